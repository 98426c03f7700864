//! The guest's linear memory, as one host call sees it.
//!
//! Every pointer and length comes from the guest and is checked here before use.

use crate::fs::Errno;

/// Most vectors in one gather or scatter call, as `IOV_MAX` on Linux.
pub(super) const MAX_VECTORS: u32 = 1024;

/// Longest text that is looked at, in bytes.
pub(super) const MAX_TEXT: usize = 65_536;

/// A view of the guest's memory.
pub(super) struct GuestMemory<'a>(pub(super) &'a mut [u8]);

/// One buffer of a gather or scatter call, already checked against the memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vector {
    pub(super) pointer: u32,
    pub(super) length: u32,
}

impl GuestMemory<'_> {
    pub(super) fn bytes(&self, pointer: u32, length: u32) -> Result<&[u8], Errno> {
        let start = pointer as usize;
        let end = start.checked_add(length as usize).ok_or(Errno::Fault)?;
        self.0.get(start..end).ok_or(Errno::Fault)
    }

    pub(super) fn bytes_mut(&mut self, pointer: u32, length: u32) -> Result<&mut [u8], Errno> {
        let start = pointer as usize;
        let end = start.checked_add(length as usize).ok_or(Errno::Fault)?;
        self.0.get_mut(start..end).ok_or(Errno::Fault)
    }

    /// A path or other text, copied.
    pub(super) fn text(&self, pointer: u32, length: u32) -> Result<String, Errno> {
        let bytes = self.bytes(pointer, length)?;
        if bytes.len() > MAX_TEXT {
            return Err(Errno::Nametoolong);
        }
        std::str::from_utf8(bytes)
            .map(str::to_owned)
            .map_err(|_| Errno::Ilseq)
    }

    pub(super) fn array<const N: usize>(&self, pointer: u32) -> Result<[u8; N], Errno> {
        let length = u32::try_from(N).map_err(|_| Errno::Fault)?;
        self.bytes(pointer, length)?
            .try_into()
            .map_err(|_| Errno::Fault)
    }

    pub(super) fn u32(&self, pointer: u32) -> Result<u32, Errno> {
        self.array(pointer).map(u32::from_le_bytes)
    }

    pub(super) fn write(&mut self, pointer: u32, bytes: &[u8]) -> Result<(), Errno> {
        let length = u32::try_from(bytes.len()).map_err(|_| Errno::Fault)?;
        self.bytes_mut(pointer, length)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn write_u32(&mut self, pointer: u32, value: u32) -> Result<(), Errno> {
        self.write(pointer, &value.to_le_bytes())
    }

    pub(super) fn write_u64(&mut self, pointer: u32, value: u64) -> Result<(), Errno> {
        self.write(pointer, &value.to_le_bytes())
    }

    /// The buffers of a gather or scatter call. Every one of them is inside the memory, and
    /// together they are cut to `most` bytes: a short transfer is always allowed.
    pub(super) fn vectors(
        &self,
        pointer: u32,
        count: u32,
        most: u32,
    ) -> Result<Vec<Vector>, Errno> {
        if count > MAX_VECTORS {
            return Err(Errno::Inval);
        }
        let mut left = most;
        let mut vectors = Vec::new();
        for index in 0..count {
            let at = index
                .checked_mul(8)
                .and_then(|offset| pointer.checked_add(offset))
                .ok_or(Errno::Fault)?;
            let buffer = self.u32(at)?;
            let length = self.u32(at.checked_add(4).ok_or(Errno::Fault)?)?;
            self.bytes(buffer, length)?;
            let length = length.min(left);
            left = left.saturating_sub(length);
            if length > 0 {
                vectors.push(Vector {
                    pointer: buffer,
                    length,
                });
            }
        }
        Ok(vectors)
    }
}
