//! A disk that is full, and a connection that is encrypted.

use std::path::{Path, PathBuf};
use std::process::Command;

use karwan_store::{Error, Store};
use karwan_testkit::postgres::{Options, Server};
use karwan_testkit::skip;

use super::{Fixture, bare, grant, options};
use crate::shop::{catalogue, context_of, kinds, sent};

/// A small file system in memory; unmounted with the test.
struct Small(PathBuf);

impl Small {
    fn mount(bytes: usize) -> Option<Self> {
        let place = std::env::temp_dir().join(format!("karwan-small-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let size = format!("size={bytes},mode=0777");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(&place).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(place)),
            _ => {
                skip::record("no small file system can be mounted here");
                None
            }
        }
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
        let _ = std::fs::remove_dir(&self.0);
    }
}

async fn emit(store: &Store, parcel: &str, count: i64) -> Result<i64, Error> {
    let ctx = context_of("delivery-service", 1);
    let done = store.unit(&ctx, |tx| async move {
        tx.emit(sent(parcel, count));
        Ok::<_, Error>(())
    });
    done.await.map(|done| done.position.seq)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_loses_nothing_and_recovers_without_a_restart() {
    let Some(small) = Small::mount(128 << 20) else { return };
    let settings = Options { data_directory: Some(small.path().join("data")), ..Options::default() };
    let settings = settings.setting("max_wal_size", "32MB").setting("wal_recycle", "off");
    let Some(server) = Server::start(settings).or_skip() else { return };
    let server: &'static Server = Box::leak(Box::new(server));
    let fixture = Fixture::new(server).await;
    emit(&fixture.store, "before", 1).await.unwrap();
    // Something else takes what is left.
    let ballast = small.path().join("ballast");
    let mut file = std::fs::File::create(&ballast).unwrap();
    while std::io::Write::write_all(&mut file, &[0; 1 << 16]).is_ok() {}
    drop(file);
    let mut committed = 1;
    let mut refused = None;
    for count in 0..20_000 {
        match emit(&fixture.store, "meanwhile", count).await {
            Ok(_) => committed += 1,
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    let refused = refused.expect("a disk that is full refuses at last");
    // A full disk for the write-ahead log takes the server down; either way it is said, and nothing is half done.
    assert!(["store-full", "store-unreachable"].contains(&refused.code()), "{refused:?}");
    std::fs::remove_file(&ballast).unwrap();
    if server.psql("postgres", "SELECT 1").is_err() {
        server.stop();
        server.start_again();
    }
    emit(&fixture.store, "after", 1).await.unwrap();
    let rows: i64 = fixture.database.psql("SELECT count(*) FROM karwan.log").unwrap().parse().unwrap();
    assert!(rows == committed + 1 || rows == committed + 2, "{rows} rows, {committed} were acknowledged before");
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_and_a_program_work_over_tls_and_a_stranger_s_certificate_is_refused() {
    let Some(server) = Server::start(Options { tls: true, ..Options::default() }).or_skip() else { return };
    let server: &'static Server = Box::leak(Box::new(server));
    let (database, login) = bare(server);
    let authority = server.authority().expect("a server with TLS has one").display().to_string();
    let verified = |url: String| format!("{url}?sslmode=verify-full&sslrootcert={authority}").parse().unwrap();
    let (owner, program) = (verified(database.url()), verified(database.url_as(&login)));
    karwan_store::migrate(&owner, &[&catalogue()], &kinds(), &|_, _, _| {}).await.unwrap();
    grant(&owner, &program).await.unwrap();
    let store = Store::open(&program, options()).await.unwrap();
    assert_eq!(emit(&store, "p", 1).await.unwrap(), 1);
    let unverified = format!("{}?sslmode=require", database.url_as(&login)).parse().unwrap();
    let refused = Store::open(&unverified, options()).await.err().expect("nobody vouches for this certificate");
    assert_eq!(refused.code(), "store-unreachable");
    server.stop();
}
