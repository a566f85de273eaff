//! The answer of a guest: the output of its command, and the files that the command wrote in its
//! folder.

use std::io::{Cursor, Read};
use std::path::{Component, Path, PathBuf};

use cpio::newc::Reader;

use super::error::VmError;

/// The bits of a file mode that hold the kind of file, and their value for a regular file.
const KIND_MASK: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The output of the command.
    pub text: String,
    /// The files of its folder: path within the folder, and content.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

impl Answer {
    /// Build it from the output of the command and a cpio archive of its folder.
    ///
    /// # Errors
    /// The archive is damaged.
    pub fn new(text: String, archive: &[u8]) -> Result<Self, VmError> {
        let files = unpack(archive).map_err(VmError::file("files of the guest"))?;
        Ok(Self { text, files })
    }
}

/// The regular files of an archive. Files whose paths lead out of the folder are left out.
fn unpack(archive: &[u8]) -> std::io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    let mut rest = Cursor::new(archive);
    loop {
        let mut reader = Reader::new(rest)?;
        if reader.entry().is_trailer() {
            return Ok(files);
        }
        let name = inside(Path::new(reader.entry().name()));
        let is_regular = reader.entry().mode() & KIND_MASK == REGULAR;
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        files.extend(name.filter(|_| is_regular).map(|name| (name, bytes)));
        rest = reader.finish()?;
    }
}

/// A path below a folder, without `.` components. None if it leads out of the folder.
fn inside(path: &Path) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(inside)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use cpio::newc::{Builder, trailer};

    use super::*;

    #[test]
    fn regular_files_below_the_folder_come_back() {
        let mut bytes = Vec::new();
        let entries = [
            (".", 0o40_755, ""),
            ("./a.csv", 0o100_644, "1,2\r\n"),
            ("out/page.html", 0o100_644, "<p>"),
            ("../passwd", 0o100_644, "root"),
            ("/etc/passwd", 0o100_644, "root"),
            ("link", 0o120_777, "a.csv"),
        ];
        for (name, mode, content) in entries {
            let size = u32::try_from(content.len()).unwrap();
            let mut writer = Builder::new(name).mode(mode).write(&mut bytes, size);
            writer.write_all(content.as_bytes()).unwrap();
            writer.finish().unwrap();
        }
        let archive = trailer(bytes).unwrap();
        let answer = Answer::new("[]".to_owned(), &archive).unwrap();
        let expected = [("a.csv", "1,2\r\n"), ("out/page.html", "<p>")];
        let expected = expected.map(|(name, text)| (PathBuf::from(name), text.as_bytes().to_vec()));
        assert_eq!(answer.files, expected);
        assert!(Answer::new(String::new(), &archive[..300]).is_err(), "a torn archive is refused");
    }
}
