//! Files that are not a supported model text: their kind, and the line that converts them.

/// Bytes at the start of files.
const FILES: [(&[u8], &str); 12] = [
    (b"\x1f\x8b", "is a gzip file; unpack it: gzip.open('model.gz', 'rt').read() in Python"),
    (b"PK\x03\x04", "is a ZIP archive; unpack it"),
    (b"CBM1", CBM),
    (b"{L", UBJ),
    (b"{l", UBJ),
    (b"{i", UBJ),
    (b"{U", UBJ),
    (
        b"binf",
        "is XGBoost's old binary file; write xgboost.Booster(model_file='model.bin').save_model('model.json') with XGBoost before 3.1",
    ),
    (b"\xff\xfe", "is UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16 text; save it as UTF-8"),
    (b"booster[", DUMP),
    (b"0:[", DUMP),
];

const CBM: &str = "is CatBoost's binary file; write catboost.CatBoost().load_model('model.cbm').save_model('model.json', \
                   format='json'), with categories also pool=the training data";
const UBJ: &str =
    "is XGBoost's binary JSON; write xgboost.Booster(model_file='model.ubj').save_model('model.json')";
const DUMP: &str = "is an XGBoost dump; write booster.save_model('model.json')";
const PICKLE: &str = "is a pickle; load it in Python and write model.booster_.save_model('model.txt') (LightGBM), \
                      model.save_model('model.json') (XGBoost), or model.save_model('model.json', format='json') (CatBoost)";
const ONNX: &str = "is an ONNX file, which cannot be imported; save the model with the library that trained it: \
                    booster.save_model('model.txt') (LightGBM), booster.save_model('model.json') (XGBoost), or \
                    model.save_model('model.json', format='json') (CatBoost)";
const PATH: &str = "looks like a path; pass the contents of the file: ltr_import(readfile('model.json')) in the sqlite3 shell, \
                    open('model.json').read() in Python";

/// Longest text that may be a path.
const LONGEST_PATH: usize = 4096;

/// What bytes are that are not a supported model text, and advice.
pub(super) fn advice(bytes: &[u8]) -> Option<&'static str> {
    let is_pickle = matches!(bytes, [0x80, 2..=5, ..]);
    // The version of the format, then the name of the program that wrote it.
    let is_onnx = matches!(bytes, [0x08, 1..=32, 0x12, ..]);
    let starts = bytes.trim_ascii_start();
    // An array of texts.
    let is_list_of_dumps =
        starts.strip_prefix(b"[").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\""));
    let file = FILES.iter().find(|(start, _)| bytes.starts_with(start));
    file.map(|(_, advice)| *advice).or(match () {
        () if is_pickle => Some(PICKLE),
        () if is_onnx => Some(ONNX),
        () if is_list_of_dumps => Some(DUMP),
        () if is_path(bytes.trim_ascii()) => Some(PATH),
        () => None,
    })
}

/// Whether a text is one line that ends in a name with an extension.
fn is_path(text: &[u8]) -> bool {
    let name = text.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or_default();
    let extension = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    text.len() <= LONGEST_PATH
        && !text.iter().any(|byte| matches!(byte, b'\n' | b'{' | b'[' | b'<' | b'=' | b'#'))
        && extension.len() < name.len()
        && (2..=6).contains(&extension.len())
        && extension[0].is_ascii_alphabetic()
        && extension.iter().all(u8::is_ascii_alphanumeric)
}
