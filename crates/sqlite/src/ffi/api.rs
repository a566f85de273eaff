//! The functions of an SQLite library: of the bundled one, or of one that is loaded.
#![expect(unsafe_code, reason = "looks functions up in a C library")]

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

use libsqlite3_sys::{
    sqlite3, sqlite3_bind_blob64, sqlite3_bind_double, sqlite3_bind_int64, sqlite3_bind_null,
    sqlite3_bind_text64, sqlite3_bind_zeroblob64, sqlite3_busy_timeout, sqlite3_clear_bindings,
    sqlite3_close, sqlite3_column_text, sqlite3_destructor_type, sqlite3_errmsg, sqlite3_exec,
    sqlite3_finalize, sqlite3_get_autocommit, sqlite3_int64, sqlite3_open_v2, sqlite3_prepare_v3,
    sqlite3_reset, sqlite3_sourceid, sqlite3_step, sqlite3_stmt, sqlite3_total_changes,
    sqlite3_uint64, sqlite3_wal_autocheckpoint, sqlite3_wal_checkpoint_v2,
};

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
    /// The library has this function, but the bindings do not declare it.
    #[link_name = "sqlite3_close_v2"]
    fn sqlite3_close_later(db: *mut sqlite3) -> c_int;
}

use self::sqlite3_close_later as sqlite3_close_v2;

/// Resolve all names at once (`RTLD_NOW`).
const NOW: c_int = 2;
/// All that the process has loaded, in order (`RTLD_DEFAULT`). A preloaded library comes first.
const EVERYWHERE: *mut c_void = null_mut();

macro_rules! api {
    ($($name:ident: ($($kind:ty),*) -> $result:ty, $symbol:ident;)*) => {
        /// The functions of an SQLite library.
        #[derive(Clone, Copy)]
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($kind),*) -> $result,)*
            /// A function of the preloaded shim that lets time pass on its machine. None without a
            /// shim.
            pub(super) pass: Option<unsafe extern "C" fn(u64)>,
        }

        impl Api {
            /// The library that is linked in.
            pub(super) const fn bundled() -> Self {
                Self { $($name: $symbol,)* pass: None }
            }

            /// The functions of a loaded library. Functions that a preloaded library replaces are
            /// taken from there.
            ///
            /// # Safety
            /// `library` is a handle of an SQLite library.
            unsafe fn of(library: *mut c_void) -> Result<Self, String> {
                // SAFETY: SQLite's interface is stable, so each function has the type above.
                unsafe {
                    Ok(Self {
                        $($name: std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn($($kind),*) -> $result,
                        >(look_up(library, stringify!($symbol))?),)*
                        pass: look_up(library, "flysch_pass").ok().map(|found| {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(u64)>(found)
                        }),
                    })
                }
            }
        }
    };
}

api! {
    open: (*const c_char, *mut *mut sqlite3, c_int, *const c_char) -> c_int, sqlite3_open_v2;
    close: (*mut sqlite3) -> c_int, sqlite3_close;
    close_later: (*mut sqlite3) -> c_int, sqlite3_close_v2;
    prepare: (*mut sqlite3, *const c_char, c_int, c_uint, *mut *mut sqlite3_stmt, *mut *const c_char)
        -> c_int, sqlite3_prepare_v3;
    bind_null: (*mut sqlite3_stmt, c_int) -> c_int, sqlite3_bind_null;
    bind_integer: (*mut sqlite3_stmt, c_int, sqlite3_int64) -> c_int, sqlite3_bind_int64;
    bind_real: (*mut sqlite3_stmt, c_int, f64) -> c_int, sqlite3_bind_double;
    bind_text: (*mut sqlite3_stmt, c_int, *const c_char, sqlite3_uint64, sqlite3_destructor_type,
        c_uchar) -> c_int, sqlite3_bind_text64;
    bind_blob: (*mut sqlite3_stmt, c_int, *const c_void, sqlite3_uint64, sqlite3_destructor_type)
        -> c_int, sqlite3_bind_blob64;
    bind_zeros: (*mut sqlite3_stmt, c_int, sqlite3_uint64) -> c_int, sqlite3_bind_zeroblob64;
    clear: (*mut sqlite3_stmt) -> c_int, sqlite3_clear_bindings;
    step: (*mut sqlite3_stmt) -> c_int, sqlite3_step;
    reset: (*mut sqlite3_stmt) -> c_int, sqlite3_reset;
    finalize: (*mut sqlite3_stmt) -> c_int, sqlite3_finalize;
    busy_timeout: (*mut sqlite3, c_int) -> c_int, sqlite3_busy_timeout;
    checkpoint: (*mut sqlite3, *const c_char, c_int, *mut c_int, *mut c_int) -> c_int,
        sqlite3_wal_checkpoint_v2;
    auto_checkpoint: (*mut sqlite3, c_int) -> c_int, sqlite3_wal_autocheckpoint;
    exec: (*mut sqlite3, *const c_char,
        Option<unsafe extern "C" fn(*mut c_void, c_int, *mut *mut c_char, *mut *mut c_char) -> c_int>,
        *mut c_void, *mut *mut c_char) -> c_int, sqlite3_exec;
    message: (*mut sqlite3) -> *const c_char, sqlite3_errmsg;
    autocommit: (*mut sqlite3) -> c_int, sqlite3_get_autocommit;
    total_changes: (*mut sqlite3) -> c_int, sqlite3_total_changes;
    column_text: (*mut sqlite3_stmt, c_int) -> *const c_uchar, sqlite3_column_text;
    source: () -> *const c_char, sqlite3_sourceid;
}

impl Api {
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: the name ends with NUL. The library is never unloaded.
        unsafe {
            let library = dlopen(name.as_ptr(), NOW);
            if library.is_null() {
                return Err(said());
            }
            Self::of(library)
        }
    }
}

/// Find a function in what is preloaded, or else in the library.
///
/// # Safety
/// `library` is a handle of a loaded library.
unsafe fn look_up(library: *mut c_void, name: &str) -> Result<*mut c_void, String> {
    let symbol = CString::new(name).map_err(|error| error.to_string())?;
    // SAFETY: the name ends with NUL, and the caller promises that the handle is valid.
    let found = unsafe {
        let first = dlsym(EVERYWHERE, symbol.as_ptr());
        if first.is_null() { dlsym(library, symbol.as_ptr()) } else { first }
    };
    if found.is_null() { Err(format!("it has no function {name}")) } else { Ok(found) }
}

/// The message of the loader on its last failure.
fn said() -> String {
    // SAFETY: the text ends with NUL and is copied at once.
    unsafe {
        let text = dlerror();
        if text.is_null() {
            return "it cannot be loaded".to_owned();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}
