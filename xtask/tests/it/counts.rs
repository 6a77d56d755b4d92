use xtask::counts::Runner::{Libtest, Nextest};
use xtask::counts::{Counts, Runner, skipped_tests};

fn check(runner: Runner, output: &str, expected: &str) {
    let mut counts = Counts::default();
    output.lines().for_each(|line| counts.read_line(runner, line));
    assert_eq!(counts.to_string(), expected);
}

#[test]
fn results_of_several_test_binaries_are_added() {
    check(
        Libtest,
        "running 3 tests\n\
         test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
         test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        "7 passed, 2 failed, 0 skipped",
    );
}

#[test]
fn a_nextest_summary_is_counted_and_its_own_skips_are_not() {
    check(
        Nextest,
        "     Summary [   0.012s] 40 tests run: 37 passed (2 slow, 1 leaky), 3 failed, 5 skipped",
        "37 passed, 3 failed, 0 skipped",
    );
}

#[test]
fn a_nextest_summary_of_one_test_is_counted() {
    check(Nextest, "     Summary [   0.012s] 1 test run: 1 passed, 0 skipped", "1 passed, 0 failed, 0 skipped");
}

#[test]
fn tests_that_time_out_or_do_not_start_have_failed() {
    check(
        Nextest,
        "     Summary [  60.012s] 4/9 tests run: 1 passed, 1 failed, 1 exec failed, 1 timed out, 0 skipped",
        "1 passed, 3 failed, 0 skipped",
    );
}

#[test]
fn what_a_test_prints_counts_nothing() {
    let nothing = "0 passed, 0 failed, 0 skipped";
    check(Libtest, "the test result: ok. 9 passed; 0 failed\n    Summary [ 1s] 1 test run: 1 passed", nothing);
    check(Nextest, "    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured\nSummary: 3 passed", nothing);
}

#[test]
fn a_skipped_test_is_not_counted_as_passed() {
    let mut counts = Counts { passed: 10, failed: 1, skipped: 0 };
    counts.set_skipped(2);
    assert_eq!(counts.to_string(), "8 passed, 1 failed, 2 skipped");
}

#[test]
fn a_test_that_says_twice_that_it_was_skipped_is_one() {
    let skipped = skipped_tests("a (x.rs)\tno python\na (x.rs)\tno pip\nb (x.rs)\tno python\n\n");
    let names: Vec<&str> = skipped.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a (x.rs)", "b (x.rs)"]);
    assert_eq!(skipped[0].1, "no python");
}
