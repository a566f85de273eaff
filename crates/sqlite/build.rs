//! Compiles the shim, which `remote` hands to programs that have an SQLite of their own.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const PARTS: [&str; 10] = [
    "channel.c",
    "host.c",
    "vfs.c",
    "file.c",
    "foretold.c",
    "lease.c",
    "watch.c",
    "record.c",
    "preload.c",
    "extension.c",
];

fn main() {
    println!("cargo:rerun-if-changed=shim");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder"));
    let headers = env::var_os("DEP_SQLITE3_INCLUDE").expect("libsqlite3-sys names its headers");
    let mut build = cc::Build::new();
    build.include(headers).warnings(true).extra_warnings(true).opt_level(2);
    build.flag("-fPIC").flag("-fvisibility=hidden").flag("-std=gnu11");
    let mut command: Command = build.get_compiler().to_command();
    command.arg("-shared").arg("-pthread").arg("-o").arg(out.join("shim.so"));
    command.args(PARTS.map(|part| format!("shim/{part}"))).arg("-ldl");
    let status = command.status().expect("the C compiler starts");
    assert!(status.success(), "the C compiler cannot build the shim");
}
