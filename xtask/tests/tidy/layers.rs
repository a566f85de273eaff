//! Rule: dependencies between the crates point down.

use crate::Finding;
use crate::dependencies::manifest_place;
use crate::tree::Tree;
use crate::workspace::Use;

/// All packages, from the bottom up, with those that each may depend on.
const LAYERS: &[(&str, &[&str])] = &[
    ("crates/nand", &[]),
    ("crates/names", &[]),
    ("crates/chip", &["crates/names", "crates/nand"]),
    ("crates/flysch", &["crates/nand"]),
    ("crates/indexes", &["crates/nand", "crates/flysch"]),
    ("crates/linux", &["crates/names", "crates/nand", "crates/chip"]),
    ("crates/sqlite", &["crates/names"]),
    ("crates/charts", &[]),
    (
        "crates/lab",
        &[
            "crates/names",
            "crates/nand",
            "crates/chip",
            "crates/flysch",
            "crates/indexes",
            "crates/linux",
            "crates/sqlite",
            "crates/charts",
        ],
    ),
    ("crates/peers", &["crates/nand", "crates/chip", "crates/flysch", "crates/linux"]),
    (
        "crates/models",
        &[
            "crates/names",
            "crates/nand",
            "crates/chip",
            "crates/flysch",
            "crates/indexes",
            "crates/charts",
        ],
    ),
    (
        "crates/kernel",
        &[
            "crates/names",
            "crates/nand",
            "crates/chip",
            "crates/linux",
            "crates/sqlite",
            "crates/charts",
            "crates/lab",
        ],
    ),
    (
        "crates/papers",
        &[
            "crates/names",
            "crates/nand",
            "crates/chip",
            "crates/flysch",
            "crates/indexes",
            "crates/sqlite",
            "crates/charts",
            "crates/lab",
            "crates/models",
        ],
    ),
    (
        "crates/cli",
        &[
            "crates/names",
            "crates/chip",
            "crates/flysch",
            "crates/indexes",
            "crates/sqlite",
            "crates/charts",
            "crates/lab",
            "crates/models",
            "crates/kernel",
            "crates/papers",
        ],
    ),
    ("crates/fuzz", &["crates/nand", "crates/chip", "crates/linux", "crates/lab"]),
    ("xtask", &[]),
];

/// Further dependencies that only tests may have.
const LAYERS_OF_TESTS: &[(&str, &str)] = &[
    ("crates/flysch", "crates/chip"),
    ("crates/indexes", "crates/chip"),
    ("crates/fuzz", "crates/models"),
    ("crates/fuzz", "crates/kernel"),
];

/// Find dependencies between packages of the workspace that are not in the list.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &tree.packages {
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == package.folder) else {
            let manifest = format!("{}/Cargo.toml", package.folder);
            findings.push(Finding::new(&manifest, 1, "a package outside the list of layers"));
            continue;
        };
        for dependency in &package.dependencies {
            let ours = tree.packages.iter().find(|other| other.name == dependency.name);
            let Some(layer) = ours.map(|other| other.folder.as_str()) else { continue };
            let in_tests = dependency.used == Use::Dev
                && LAYERS_OF_TESTS.contains(&(package.folder.as_str(), layer));
            if !allowed.contains(&layer) && !in_tests {
                let message = format!("{} must not depend on {layer}", package.folder);
                let (manifest, line) = manifest_place(tree, package, &dependency.name);
                findings.push(Finding::new(&manifest, line, message));
            }
        }
    }
    findings
}

#[test]
fn edges_that_point_up_are_found() {
    let check = |name: &str, dependencies: &[(&str, Use)], places: &[&str]| {
        let manifest = "[package]\nname = \"it\"\n[dependencies]\nflysch-nand = \"1\"\n\
                        flysch-lab = \"1\"\nflysch-chip.workspace = true\n";
        let folder = format!("crates/{name}");
        let mut tree = Tree::of(&[(&format!("{folder}/Cargo.toml"), manifest)]);
        for other in ["nand", "chip", "lab"] {
            let other = (format!("flysch-{other}"), format!("crates/{other}"));
            tree.packages.push(crate::dependencies::package(&other.1, &other.0, &[]));
        }
        tree.packages.push(crate::dependencies::package(&folder, "it", dependencies));
        crate::check_tree(check, &tree, places);
    };
    check("linux", &[("flysch-nand", Use::Normal), ("flysch-chip", Use::Normal)], &[]);
    check("linux", &[("flysch-lab", Use::Normal)], &["crates/linux/Cargo.toml:5"]);
    check("linux", &[("flysch-lab", Use::Dev)], &["crates/linux/Cargo.toml:5"]);
    check("sqlite", &[("flysch-nand", Use::Dev)], &["crates/sqlite/Cargo.toml:4"]);
    check("flysch", &[("flysch-chip", Use::Dev), ("serde", Use::Normal)], &[]);
    check("flysch", &[("flysch-chip", Use::Normal)], &["crates/flysch/Cargo.toml:6"]);
    check("extra", &[], &["crates/extra/Cargo.toml:1"]);
}
