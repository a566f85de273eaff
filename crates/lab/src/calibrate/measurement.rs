//! The measurements: what each repeats, and how it is prepared.

use flysch_linux::filesystem::CACHE_PAGE_SIZE;
use flysch_linux::vfs::Fd;

use super::content::Content;
use super::statements::{self, Prepared, Sql};
use crate::bench::RunError;
use crate::bench::site::Site;
use crate::machine::age::REST_NS;

/// Name of the file that is read and written.
const FILE: &str = "calibrate";
/// Its size where the measurement needs one, bytes.
const FILE_SIZE: usize = 256 << 10;
/// Bytes in each cache page of a file with holes.
const PIECE: usize = 500;

/// One kind of call.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Read this many bytes that are in the page cache.
    ReadCached(usize),
    /// Read a file from the flash, a cache page in each call.
    ReadCold(Content),
    /// Read a file of short pieces, each followed by a hole up to the next cache page, as a small
    /// file is.
    ReadPieces(Content),
    /// Write this many bytes to pages that are in the cache.
    Write(usize),
    /// Append this many bytes and make them durable.
    Append(Content, usize),
    /// Make a file durable that is so already.
    Fsync,
    /// Open and close a file.
    Open,
    /// Make a file, close and remove it.
    Create,
    /// Run statements.
    Sql(Sql),
}

/// A measurement: a kind of call, and how often it is repeated.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    pub(super) name: String,
    pub(super) calls: u32,
    act: Act,
}

/// A measurement that is prepared.
pub(super) struct Started {
    act: Act,
    calls: u32,
    fd: Option<Fd>,
    bytes: Vec<u8>,
    sql: Option<Prepared>,
}

/// All measurements, in the order in which they are made.
pub(super) fn all() -> Vec<Measurement> {
    let one = |name: String, calls, act| Measurement { name, calls, act };
    let mut all = Vec::new();
    for len in [1, 1024, 4096, 65_536] {
        all.push(one(format!("read cached {len}"), 200, Act::ReadCached(len)));
    }
    for len in [1, 1024, 4096] {
        all.push(one(format!("write {len}"), 100, Act::Write(len)));
    }
    all.push(one("fsync".to_owned(), 200, Act::Fsync));
    all.push(one("open".to_owned(), 100, Act::Open));
    all.push(one("create".to_owned(), 50, Act::Create));
    for content in Content::ALL {
        for len in [512, 1024, 4096, 16_384] {
            let name = format!("append {} {len}", content.name());
            all.push(one(name, 30, Act::Append(content, len)));
        }
        let calls = FILE_SIZE / CACHE_PAGE_SIZE;
        let calls = u32::try_from(calls).expect("a few pages");
        all.push(one(format!("read {}", content.name()), calls, Act::ReadCold(content)));
        let name = format!("read pieces {}", content.name());
        all.push(one(name, calls, Act::ReadPieces(content)));
    }
    for sql in statements::ALL {
        all.push(one(format!("sql {}", sql.name), sql.calls, Act::Sql(sql)));
    }
    all
}

impl Measurement {
    /// Prepare the measurement. Only what is in caches by purpose is there afterwards.
    pub(super) fn start(&self, site: &dyn Site) -> Result<Started, RunError> {
        let Self { act, calls, .. } = *self;
        let mut started = Started { act, calls, fd: None, bytes: Vec::new(), sql: None };
        match act {
            Act::Sql(sql) => started.sql = Some(Prepared::new(sql, site)?),
            Act::Create => {}
            Act::ReadCached(len) | Act::Write(len) => {
                let fd = make(site, Content::Half)?;
                site.sleep(REST_NS);
                read_all(site, fd)?;
                started.bytes = Content::Random.bytes(len, 7);
                started.fd = Some(fd);
            }
            Act::Open | Act::Fsync => {
                started.fd = Some(make(site, Content::Half)?);
                site.sleep(REST_NS);
            }
            Act::Append(content, len) => {
                let fd = site.files().open(FILE, true)?;
                started.bytes = content.bytes(len * calls as usize, 8);
                site.files().fsync(fd)?;
                site.sleep(REST_NS);
                started.fd = Some(fd);
            }
            Act::ReadCold(content) | Act::ReadPieces(content) => {
                let len = match act {
                    Act::ReadPieces(_) => PIECE,
                    _ => CACHE_PAGE_SIZE,
                };
                let fd = make_of(site, content, len)?;
                site.files().close(fd)?;
                site.settle()?;
                started.fd = Some(site.files().open(FILE, false)?);
                started.bytes = vec![0; CACHE_PAGE_SIZE];
            }
        }
        Ok(started)
    }
}

/// A new file with content, which is durable.
fn make(site: &dyn Site, content: Content) -> Result<Fd, RunError> {
    make_of(site, content, CACHE_PAGE_SIZE)
}

/// The same with only the first `len` bytes of each cache page.
fn make_of(site: &dyn Site, content: Content, len: usize) -> Result<Fd, RunError> {
    let mut files = site.files();
    let fd = files.open(FILE, true)?;
    for (at, part) in content.bytes(FILE_SIZE, 9).chunks(CACHE_PAGE_SIZE).enumerate() {
        files.write(fd, (at * CACHE_PAGE_SIZE) as u64, &part[..len])?;
    }
    files.fsync(fd)?;
    Ok(fd)
}

fn read_all(site: &dyn Site, fd: Fd) -> Result<(), RunError> {
    let mut page = [0; CACHE_PAGE_SIZE];
    let mut files = site.files();
    for at in (0..FILE_SIZE).step_by(CACHE_PAGE_SIZE) {
        files.read(fd, at as u64, &mut page)?;
    }
    Ok(())
}

impl Started {
    /// Make all calls.
    pub(super) fn run(&mut self, site: &dyn Site) -> Result<(), RunError> {
        if let Some(sql) = &mut self.sql {
            return sql.run(site);
        }
        (0..self.calls as usize).try_for_each(|call| self.call(site, call))
    }

    /// Close and remove what the calls worked on.
    pub(super) fn end(self, site: &dyn Site) -> Result<(), RunError> {
        if let Some(sql) = self.sql {
            return sql.end(site);
        }
        let mut files = site.files();
        if let Some(fd) = self.fd {
            files.close(fd)?;
            files.unlink(FILE)?;
        }
        Ok(())
    }

    fn call(&mut self, site: &dyn Site, call: usize) -> Result<(), RunError> {
        let mut files = site.files();
        let fd = self.fd.unwrap_or(Fd(0));
        match self.act {
            Act::ReadCached(len) => {
                let at = call * CACHE_PAGE_SIZE % (FILE_SIZE - len.max(CACHE_PAGE_SIZE) + 1);
                files.read(fd, at as u64, &mut self.bytes)?;
            }
            Act::Write(_) => {
                let at = call * CACHE_PAGE_SIZE % FILE_SIZE;
                files.write(fd, at as u64, &self.bytes)?;
            }
            Act::Append(_, len) => {
                let part = call * len..(call + 1) * len;
                files.write(fd, part.start as u64, &self.bytes[part])?;
                files.fsync(fd)?;
            }
            Act::Fsync => files.fsync(fd)?,
            Act::Open => {
                let fd = files.open(FILE, false)?;
                files.close(fd)?;
            }
            Act::Create => {
                let fd = files.open(FILE, true)?;
                files.close(fd)?;
                files.unlink(FILE)?;
            }
            Act::ReadCold(_) | Act::ReadPieces(_) => {
                files.read(fd, (call * CACHE_PAGE_SIZE) as u64, &mut self.bytes)?;
            }
            Act::Sql(_) => unreachable!("statements are run apart"),
        }
        Ok(())
    }
}
