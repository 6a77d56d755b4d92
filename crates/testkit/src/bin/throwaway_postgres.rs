//! A Postgres server to try something with: prints its URL and its data directory, and ends with its standard input.
//!
//! The server is gone afterwards, however this process ends; the tests of the watchdog end it in rude ways.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use karwan_testkit::Need;

fn main() -> ExitCode {
    match karwan_testkit::postgres() {
        Need::Met(server) => {
            let (url, data) = (server.url("postgres", server.superuser()), server.data_directory());
            let said = writeln!(std::io::stdout(), "{url}\n{}", data.display());
            let ended = said.and_then(|()| std::io::stdin().read_to_end(&mut Vec::new()));
            if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Need::Missing(reason) => {
            // Where stderr is closed, the exit code still tells.
            let _ = writeln!(std::io::stderr(), "no server: {reason}");
            ExitCode::FAILURE
        }
    }
}
