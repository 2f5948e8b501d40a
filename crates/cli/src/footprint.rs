//! What the process keeps in memory of that which it does not need any more.
//!
//! A check reads a model, translates it, and then searches for a long time. The code that did the first two is larger than
//! the rest, and beside a small search it would be most of what the process has in memory.
#![allow(unsafe_code)]

/// Gives back to the system what is freed, and the program's code and constants: the system has them on disk and in its
/// cache, and maps again, by itself, what is still used.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    linux::give_back();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod linux {
    use std::{ffi::c_void, slice};

    use libc::{
        MADV_DONTNEED, PF_W, PT_LOAD, c_int, dl_iterate_phdr, dl_phdr_info, madvise, malloc_trim, size_t,
    };

    /// As large as pages can be.
    const PAGE: usize = 1 << 16;

    pub(super) fn give_back() {
        // SAFETY: frees nothing that is in use, and may be called at any time.
        unsafe { malloc_trim(0) };
        // SAFETY: the function called back has the type that is asked for, and uses no data.
        unsafe { dl_iterate_phdr(Some(forget_program), std::ptr::null_mut()) };
    }

    /// Unmaps what the first object, which is the program, has in segments that are not written to.
    unsafe extern "C" fn forget_program(info: *mut dl_phdr_info, _size: size_t, _data: *mut c_void) -> c_int {
        // SAFETY: the caller gives an object that is valid during the call, with its headers.
        let (base, headers) = unsafe {
            let info = &*info;
            (info.dlpi_addr as usize, slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()))
        };
        for header in headers.iter().filter(|header| header.p_type == PT_LOAD && header.p_flags & PF_W == 0) {
            let start = base + header.p_vaddr as usize;
            let end = (start + header.p_memsz as usize) / PAGE * PAGE;
            let start = start.next_multiple_of(PAGE);
            if start < end {
                // SAFETY: these are whole pages of one segment. It is mapped from the program's file, and nothing was
                // written to it: what is relocated stands in segments that can be written to, as the linker
                // refuses anything else unless it is asked for. So what is read again is the same.
                unsafe { madvise(start as *mut c_void, end - start, MADV_DONTNEED) };
            }
        }
        // Not the libraries: they are small.
        1
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn code_and_constants_are_there_again() {
        let text = || (0..200).map(|number| format!("{number:?}")).collect::<Vec<_>>().join(" ");
        let before = text();
        super::give_back();
        assert_eq!(text(), before);
    }
}
