# SPDX-License-Identifier: MIT
# The daemon, its client and rubricd-http. Parsed and evaluated with stand-ins for nixpkgs, and not built: what is
# built and tested is Debian's.
{ lib, stdenv, meson, ninja, pkg-config, python3, inih, jansson, libevent, libmd, libmicrohttpd, libseccomp
, minizip, systemd, zlib }:

stdenv.mkDerivation {
  pname = "rubricd";
  version = "0.1.0";
  src = lib.cleanSource ../..;

  nativeBuildInputs = [ meson ninja pkg-config python3 ];
  buildInputs = [ inih jansson libevent libmd libmicrohttpd libseccomp minizip python3 systemd zlib ];

  mesonBuildType = "release";
  mesonFlags = [
    "-Dtests=disabled"
    "-Dattacks=false"
    "-Dhttp=enabled"
    "-Dfleet=disabled"
    "-Dwarm=enabled"
    "-Dwerror=false"
    "-Dsystemdsystemunitdir=${placeholder "out"}/lib/systemd/system"
    "-Dsysusersdir=${placeholder "out"}/lib/sysusers.d"
    "-Dtmpfilesdir=${placeholder "out"}/lib/tmpfiles.d"
    "-Dcatalogdir=${placeholder "out"}/lib/systemd/catalog"
  ];

  meta = {
    description = "Supervisor of untrusted graders for evaluation hosts";
    license = lib.licenses.mit;
    platforms = lib.platforms.linux;
    mainProgram = "rubricctl";
  };
}
