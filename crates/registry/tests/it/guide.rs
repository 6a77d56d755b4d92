//! The guide's program is the example `shop`, which is compiled with the tests.

use std::fs;
use std::path::Path;

/// The code below a heading that names a file.
fn shown<'g>(guide: &'g str, file: &str) -> &'g str {
    let (_, section) = guide.split_once(&format!("## `src/{file}`")).expect("the guide has a section of this file");
    let (_, code) = section.split_once("```rust\n").expect("the section has code");
    code.split_once("```").expect("the code ends").0
}

#[test]
fn the_program_of_the_guide_is_the_example_that_is_compiled() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(crate_folder.join("../../docs/guides/your-own-platform.md")).expect("the guide");
    for file in ["events.rs", "platform.rs", "main.rs"] {
        let example = fs::read_to_string(crate_folder.join("examples/shop").join(file)).expect("the example's file");
        // Our lints are not the reader's.
        let code = match example.split_once('\n') {
            Some((first, rest)) if first.starts_with("#![expect(") => rest,
            _ => &example,
        };
        assert_eq!(shown(&guide, file), code, "{file}");
    }
}
