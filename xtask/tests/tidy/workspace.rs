//! The packages of the workspace, from `cargo metadata`.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Where a dependency is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Normal,
    Dev,
    Build,
}

pub(crate) struct Dependency {
    pub(crate) name: String,
    /// The name that sources use for it.
    pub(crate) identifier: String,
    pub(crate) used: Use,
}

pub(crate) struct Package {
    pub(crate) name: String,
    /// The folder of the package, relative to the root of the workspace.
    pub(crate) folder: String,
    /// The root files of its targets.
    pub(crate) roots: Vec<String>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// Ask cargo for the packages of the workspace at `root`.
pub(crate) fn packages(root: &Path) -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps"])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {complaint}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let root = metadata["workspace_root"].as_str().expect("every workspace has a root");
    items(&metadata["packages"]).iter().map(|package| Package::new(root, package)).collect()
}

impl Package {
    fn new(root: &str, package: &Value) -> Self {
        let local = |path: &str| {
            let path = path.strip_prefix(root).unwrap_or(path).replace('\\', "/");
            path.trim_start_matches('/').to_owned()
        };
        let manifest = local(text(&package["manifest_path"]));
        let folder = manifest.trim_end_matches("/Cargo.toml").to_owned();
        let targets = items(&package["targets"]).iter();
        Self {
            name: text(&package["name"]).into(),
            folder,
            roots: targets.map(|target| local(text(&target["src_path"]))).collect(),
            dependencies: items(&package["dependencies"]).iter().map(Dependency::new).collect(),
        }
    }
}

impl Dependency {
    fn new(dependency: &Value) -> Self {
        let name = text(&dependency["name"]);
        let used = match dependency["kind"].as_str() {
            Some("dev") => Use::Dev,
            Some("build") => Use::Build,
            Some(_) | None => Use::Normal,
        };
        let identifier = dependency["rename"].as_str().unwrap_or(name).replace('-', "_");
        Self { name: name.into(), identifier, used }
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().expect("cargo lists it")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("cargo names it")
}
