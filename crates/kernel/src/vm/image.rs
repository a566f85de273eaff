//! The memory disk of a guest: a cpio archive of the store's files, this program, and the init
//! script.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cpio::newc::{Builder, ModeFileType, trailer};

use super::error::VmError;
use super::guest::Guest;
use super::process::output;
use super::store::Store;

/// Empty folders that the init script needs.
const FOLDERS: [&str; 7] = ["bin", "dev", "lib64", "mnt", "proc", "sys", "tmp"];

/// An archive under construction.
struct Archive {
    bytes: Vec<u8>,
    names: BTreeSet<PathBuf>,
}

/// Make the memory disk of `guest` with this init script.
pub(super) fn make(store: &Store, guest: &Guest, script: &str) -> Result<Vec<u8>, VmError> {
    let mut archive = Archive { bytes: Vec::new(), names: BTreeSet::new() };
    for folder in FOLDERS {
        archive.folder(Path::new(folder))?;
    }
    let root = store.path("root");
    archive.tree(&root, Path::new(""))?;
    archive.file(Path::new("hwecc.ko"), &read(&store.path("hwecc.ko"))?, 0o644)?;
    if let Some(module) = &guest.module {
        archive.file(Path::new("module.ko"), &read(module)?, 0o644)?;
    }
    let this = std::env::current_exe().map_err(VmError::file("flysch"))?;
    archive.file(Path::new("bin/flysch"), &read(&this)?, 0o755)?;
    let mut programs = vec![this];
    programs.extend(files_in(&root.join("usr/sbin"))?);
    for library in libraries(&programs)? {
        let name = library.strip_prefix("/").unwrap_or(&library).to_path_buf();
        archive.file(&name, &read(&library)?, 0o755)?;
    }
    archive.file(Path::new("init"), script.as_bytes(), 0o755)?;
    trailer(archive.bytes).map_err(VmError::file("memory disk"))
}

impl Archive {
    fn entry(
        &mut self,
        name: &Path,
        bytes: &[u8],
        kind: ModeFileType,
        mode: u32,
    ) -> Result<(), VmError> {
        if !self.names.insert(name.to_path_buf()) {
            return Ok(());
        }
        let failed = VmError::file(name);
        let size = u32::try_from(bytes.len());
        let size = size.map_err(|_| VmError::TooLarge)?;
        let entry = Builder::new(&name.to_string_lossy())
            .ino(u32::try_from(self.names.len()).unwrap_or(u32::MAX))
            .nlink(1)
            .mode(mode)
            .set_mode_file_type(kind);
        let mut writer = entry.write(&mut self.bytes, size);
        writer.write_all(bytes).and_then(|()| writer.finish().map(drop)).map_err(failed)
    }

    fn folder(&mut self, name: &Path) -> Result<(), VmError> {
        if name.as_os_str().is_empty() {
            return Ok(());
        }
        if let Some(parent) = name.parent() {
            self.folder(parent)?;
        }
        self.entry(name, &[], ModeFileType::Directory, 0o755)
    }

    fn file(&mut self, name: &Path, bytes: &[u8], mode: u32) -> Result<(), VmError> {
        if let Some(parent) = name.parent() {
            self.folder(parent)?;
        }
        self.entry(name, bytes, ModeFileType::Regular, mode)
    }

    fn tree(&mut self, from: &Path, name: &Path) -> Result<(), VmError> {
        for path in files_in(from)? {
            let name = name.join(path.file_name().unwrap_or_default());
            if path.is_dir() {
                self.folder(&name)?;
                self.tree(&path, &name)?;
            } else {
                let mode = fs::metadata(&path).map_err(VmError::file(&path))?.mode();
                self.file(&name, &read(&path)?, mode & 0o777)?;
            }
        }
        Ok(())
    }
}

/// The entries of a folder, sorted by name.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, VmError> {
    let entries = fs::read_dir(folder).map_err(VmError::file(folder))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// The shared libraries of this machine that programs load, including the dynamic loader.
fn libraries(programs: &[PathBuf]) -> Result<BTreeSet<PathBuf>, VmError> {
    let mut found = BTreeSet::new();
    for program in programs {
        let text = output(Command::new("ldd").arg(program))?;
        let paths = text
            .lines()
            .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
        found.extend(paths.map(PathBuf::from));
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>, VmError> {
    fs::read(path).map_err(VmError::file(path))
}
