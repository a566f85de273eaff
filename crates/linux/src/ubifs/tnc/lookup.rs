//! Looking up the node of a key, or the directory entry of a name.

use super::cursor::Position;
use super::znode::Place;
use crate::ubifs::Ubifs;
use crate::ubifs::fault::Fault;
use crate::ubifs::format::DentNode;
use crate::ubifs::key::Key;

impl Ubifs {
    /// Where the node of a key is. The key must be one that only one node can have.
    pub(in super::super) fn find(&mut self, key: Key) -> Result<Option<Place>, Fault> {
        let at = self.seek(key)?;
        Ok(self.leaf(at).filter(|(found, _)| *found == key).map(|(_, place)| place))
    }

    /// Find the entry of a name. It is among the entries whose names have the same hash.
    pub(in super::super) fn find_name(
        &mut self,
        key: Key,
        name: &[u8],
    ) -> Result<Option<Position>, Fault> {
        let last = self.seek(key)?;
        let mut at = Some(last);
        while let Some(position) = at {
            if self.leaf(position).is_none_or(|(found, _)| found != key) {
                break;
            }
            match self.read_dent(position) {
                Ok(dent) if dent.name == name => return Ok(Some(position)),
                // The LEB of this entry has been used again meanwhile. The journal replaces the
                // entry.
                Err(Fault::Damaged { .. }) if self.is_replaying => return Ok(Some(position)),
                Err(fault) => return Err(fault),
                Ok(_) => {}
            }
            at = self.before(position)?;
        }
        Ok(None)
    }

    /// Look whether an inode has extended attributes, as the kernel does when it deletes one. The
    /// search goes on to the entry behind the place of the first, which may be in another znode
    /// (`ubifs_tnc_next_ent`).
    pub(in super::super) fn look_for_attributes(&mut self, ino: u32) -> Result<(), Fault> {
        let at = self.seek(Key::first_attribute(ino))?;
        self.after(at).map(drop)
    }

    /// Read a directory entry. It stays in memory with its branch.
    pub(in super::super) fn read_dent(&mut self, at: Position) -> Result<DentNode, Fault> {
        let (key, place) = self.leaf(at).expect("a position found");
        let damaged = Fault::Damaged { lnum: place.lnum, offset: place.offset };
        if self.tnc.znode(at.znode).branches[at.slot].leaf.is_none() {
            let _scope = self.recorder.scope("ubifs_read_dent");
            let bytes = self.read_node(place)?;
            let branch = &mut self.tnc.znode_mut(at.znode).branches[at.slot];
            branch.leaf = Some(bytes.into_boxed_slice());
        }
        let branch = &self.tnc.znode(at.znode).branches[at.slot];
        let dent = branch.leaf.as_deref().and_then(DentNode::parse).ok_or(damaged)?;
        if dent.key == key { Ok(dent) } else { Err(damaged) }
    }
}
