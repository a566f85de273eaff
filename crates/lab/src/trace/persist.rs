//! Write a file completely or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tempfile::Builder;

/// Write `bytes` to `path`, through a temporary file in the same folder. An existing file is only
/// replaced if `overwrite` is set. Anything that is not a regular file is never replaced.
///
/// # Errors
/// The error is [`io::ErrorKind::AlreadyExists`] if the file exists and may not be replaced.
pub fn write_atomic(path: &Path, bytes: &[u8], overwrite: bool) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !overwrite || !found.is_file()) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut file = builder().tempfile_in(folder_of(path))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    // A file may have been created after the check above. So without `overwrite`, the rename itself
    // must not replace a file.
    let placed = if overwrite { file.persist(path) } else { file.persist_noclobber(path) };
    placed.map(|_| ()).map_err(|refused| refused.error)
}

/// Check that [`write_atomic`] can write to the folder of `path`, by making a temporary file there.
///
/// # Errors
/// Fails if no file can be made in the folder.
pub fn check_place(path: &Path) -> io::Result<()> {
    builder().tempfile_in(folder_of(path)).map(drop)
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

#[cfg(unix)]
fn builder() -> Builder<'static, 'static> {
    use std::os::unix::fs::PermissionsExt;
    let mut builder = Builder::new();
    builder.permissions(fs::Permissions::from_mode(0o666));
    builder
}

#[cfg(not(unix))]
fn builder() -> Builder<'static, 'static> {
    Builder::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_replaced_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_atomic(&path, b"first", false).unwrap();
        let kept = write_atomic(&path, b"second", false).unwrap_err();
        assert_eq!(kept.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        write_atomic(&path, b"second", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        let folder_kept = write_atomic(folder.path(), b"third", true).unwrap_err();
        assert_eq!(folder_kept.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
    }
}
