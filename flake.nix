# SPDX-License-Identifier: MIT
# nix run .#rubricctl -- --help; packages of packaging/nix. See there for what is checked.
{
  description = "Supervisor of untrusted graders for evaluation hosts";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-24.11";
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
    in {
      packages = each (pkgs: rec {
        rubricd = pkgs.callPackage ./packaging/nix/package.nix { };
        python3-rubricd = pkgs.python3Packages.callPackage ./packaging/nix/python.nix { };
        default = rubricd;
      });
    };
}
