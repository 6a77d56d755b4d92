use xtask::rust_source::{code_only, test_functions};

fn check(text: &str, expected: &str) {
    let code = code_only(text);
    assert_eq!(code, expected);
    assert_eq!(code.len(), text.len(), "offsets are kept");
}

#[test]
fn comments_are_blanked_and_lines_stay() {
    check("a // b\nc /* d /* e */\nf */ g", "a     \nc             \n     g");
}

#[test]
fn contents_of_literals_are_blanked_and_quotes_stay() {
    check(r#"f("a\"b", 'c', '\'', b"d")"#, r#"f("    ", ' ', '  ', b" ")"#);
}

#[test]
fn raw_strings_end_at_their_own_mark() {
    check(r###"r#"a"b"# + r"c" + br##"d"#"##"###, r###"r#"   "# + r" " + br##"   "##"###);
}

#[test]
fn lifetimes_and_raw_identifiers_are_code() {
    check("fn f<'a>(x: &'a str, r#type: u8) {}", "fn f<'a>(x: &'a str, r#type: u8) {}");
}

#[test]
fn a_quote_in_a_character_opens_no_string() {
    check(r#"('"', "x", 'é', 'e')"#, r#"(' ', " ", '  ', ' ')"#);
}

#[test]
fn text_that_ends_within_a_literal_is_read_to_its_end() {
    for text in ["\"abc", "\"abc\\", "r#\"abc", "/* abc", "'", "'\\", "b", "r#", "'é"] {
        assert_eq!(code_only(text).len(), text.len(), "{text}");
    }
}

#[test]
fn a_suite_makes_tests_of_the_functions_that_it_lists() {
    let text = "on_both! {\n    one_claim,\n    another,\n}\nasync fn one_claim() {}\nfn helper() {}";
    assert_eq!(test_functions(text), ["one_claim", "another"]);
}

#[test]
fn tests_are_functions_with_the_attribute() {
    let text = r#"
        #[test]
        fn plain() {}
        #[tokio::test(flavor = "current_thread")]
        async fn asynchronous() {}
        #[should_panic]
        #[test]
        #[cfg(unix)]
        fn with_more_attributes() {}
        fn no_test() {}
        #[cfg(test)]
        fn only_built_for_tests() {}
        // #[test]
        fn commented() {}
        proptest! {
            #![proptest_config(ProptestConfig { cases: 9, ..Default::default() })]
            #[test]
            fn a_property(x in 0..9) { fn inner() {} }
        }
    "#;
    assert_eq!(test_functions(text), ["plain", "asynchronous", "with_more_attributes", "a_property"]);
}
