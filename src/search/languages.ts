/** The language of a file by its name; what `lang:` compares with. */

/** Languages, each with the names it goes by, and the endings and whole names of its files. */
const LANGUAGES: readonly (readonly [names: string, files: string])[] = [
  ["ada", ".ada .adb .ads"],
  ["assembly asm", ".asm .s"],
  ["bazel starlark", ".bzl .bazel build workspace"],
  ["c", ".c .h"],
  ["cpp c++", ".cc .cpp .cxx .hpp .hh .hxx .ipp .inl .h"],
  ["csharp c# cs", ".cs .csx"],
  ["clojure", ".clj .cljs .cljc .edn"],
  ["cmake", ".cmake cmakelists.txt"],
  ["css", ".css"],
  ["cuda", ".cu .cuh"],
  ["d", ".d .di"],
  ["dart", ".dart"],
  ["dockerfile docker", ".dockerfile dockerfile containerfile"],
  ["elixir", ".ex .exs"],
  ["elm", ".elm"],
  ["erlang", ".erl .hrl"],
  ["fortran", ".f .f77 .f90 .f95 .f03 .f08 .for"],
  ["fsharp f#", ".fs .fsi .fsx"],
  ["go golang", ".go go.mod"],
  ["graphql", ".graphql .gql"],
  ["groovy", ".groovy .gradle jenkinsfile"],
  ["haskell hs", ".hs .lhs"],
  ["hcl terraform", ".tf .tfvars .hcl"],
  ["html", ".html .htm .xhtml"],
  ["ini", ".ini .cfg .conf .properties"],
  ["java", ".java"],
  ["javascript js", ".js .mjs .cjs .jsx"],
  ["json", ".json .jsonc .json5"],
  ["julia", ".jl"],
  ["kotlin kt", ".kt .kts"],
  ["less", ".less"],
  ["lisp", ".lisp .lsp .cl .el"],
  ["lua", ".lua"],
  ["make makefile", ".mk .mak makefile gnumakefile"],
  ["markdown md", ".md .markdown .mdx"],
  ["meson", "meson.build meson_options.txt"],
  ["nim", ".nim"],
  ["nix", ".nix"],
  ["objective-c objc", ".m .mm"],
  ["ocaml", ".ml .mli"],
  ["pascal delphi", ".pas .dpr"],
  ["perl", ".pl .pm .t"],
  ["php", ".php .phtml"],
  ["powershell", ".ps1 .psm1 .psd1"],
  ["protobuf proto", ".proto"],
  ["python py", ".py .pyi .pyw"],
  ["r", ".r .rmd"],
  ["restructuredtext rst", ".rst"],
  ["ruby rb", ".rb .rake gemfile rakefile"],
  ["rust rs", ".rs"],
  ["scala", ".scala .sc"],
  ["scheme", ".scm .ss .rkt"],
  ["scss sass", ".scss .sass"],
  ["shell sh bash", ".sh .bash .zsh .ksh"],
  ["sql", ".sql"],
  ["svelte", ".svelte"],
  ["swift", ".swift"],
  ["tcl", ".tcl"],
  ["tex latex", ".tex .sty .cls .bib"],
  ["text txt", ".txt"],
  ["toml", ".toml"],
  ["typescript ts", ".ts .mts .cts .tsx"],
  ["verilog", ".v .sv .svh .vh"],
  ["vhdl", ".vhd .vhdl"],
  ["vim", ".vim vimrc"],
  ["vue", ".vue"],
  ["xml", ".xml .xsd .xsl .xslt .svg .plist"],
  ["yaml yml", ".yaml .yml"],
  ["zig", ".zig"],
];

let byFile: Map<string, string[]> | undefined;

/** The names of the languages that a path may be written in: `typescript` and `ts` for `a/b.ts`. */
export function languagesOf(path: string): readonly string[] {
  byFile ??= index();
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const dot = name.lastIndexOf(".");
  return byFile.get(name) ?? (dot < 0 ? [] : byFile.get(name.slice(dot)) ?? []);
}

function index(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [names, files] of LANGUAGES) {
    for (const file of files.split(" ")) found.set(file, [...found.get(file) ?? [], ...names.split(" ")]);
  }
  return found;
}
