//! Gives the shared library a name of its own, so that programs do not remember its path, and lets
//! no `dlclose` unload it.

fn main() {
    // WHY an environment variable: an installed library carries the version of its ABI.
    println!("cargo:rerun-if-env-changed=HORUS_CPP_SONAME");
    let name = std::env::var("HORUS_CPP_SONAME").unwrap_or_else(|_| "libhorus_cpp.so".to_owned());
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{name}");
    // WHY: the process calls the library's handler of SIGBUS also after the host of a plugin has
    // closed the plugin, and with it the library.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
