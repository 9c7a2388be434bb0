//! The command as people meet it: transcripts that are run, in tests/cli and in the README.
//!
//! `TRYCMD=overwrite cargo test --test transcripts` writes them anew; read the difference before you commit it.

#[test]
fn every_transcript_is_what_the_command_prints() {
    let top = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::env::set_current_dir(top).expect("the top of the project");
    trycmd::TestCases::new()
        .register_bin("alignck", std::path::Path::new(env!("CARGO_BIN_EXE_alignck")))
        .env("XDG_STATE_HOME", "/dev/null/state")
        .case("tests/cli/*.md")
        .case("README.md");
}
