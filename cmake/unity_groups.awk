# Which sources may be compiled together. A unity build puts several files into one translation
# unit, so that Eigen's headers, most of the compile time, are read once for all of them. But two
# files cannot share one if both define a name in their anonymous namespaces, or if one does so with
# the name of a type that a header has for the other. This reads those names (clang-format puts
# every definition at the start of a line) and packs files, in the order given, into groups without
# a clash. A group stays within a folder.
# usage: awk -v lines=1500 -f unity_groups.awk is=header *.h is=source *.cpp   prints group<TAB>file
#
# A clash this does not see is a compile error: rename, or give the file the source property
# SKIP_UNITY_BUILD_INCLUSION. An overload of another file that fits better would be taken in
# silence; script/lint still compiles every file by itself.

FNR == 1 {
  hidden = 0
  if (is == "source") files[++count] = FILENAME
}
is == "source" { length_of[count] = FNR }

# Inside namespace urto, `testing` is GoogleTest's until a header opens urto::testing.
/(^|[^:a-z])testing::[A-Z]/ && is == "source" { note("testing", "GoogleTest's") }
/^namespace urto::testing/ && is == "header" { types_of[FILENAME] = types_of[FILENAME] " testing" }

# What a header brings besides: two headers may have different types of one name. Headers of other
# folders are named from the root of the includes, or by ../.
/^#include "/ && is == "source" {
  included = $2
  gsub(/"|\.\.\//, "", included)
  for (header in types_of) {
    if (index(header, "/" included) != length(header) - length(included)) continue
    n = split(types_of[header], list, " ")
    for (k = 1; k <= n; ++k) {
      if (list[k] == "testing") note("testing", "ours")
      else note("#" list[k], header)
    }
  }
}
/^using namespace / && is == "source" { opened[count] = opened[count] $3 }

/^namespace \{/ { hidden = 1; next }
/^\}  \/\/ namespace$/ { hidden = 0; next }

# A name of the whole file, wherever it stands. The same alias or macro twice is no clash.
/^(using [A-Za-z_0-9]+ =|#define )/ {
  name = $2
  sub(/\(.*/, "", name)
  note(name, $0)
  next
}
/^[A-Za-z_]/ && (hidden || is == "header" || /^static /) { read_definition($0) }

function read_definition(line,   n, words) {
  if (line ~ /^template <.*> ./) sub(/^template <[^>]*> /, "", line)
  if (line ~ /^(template|namespace|TEST|INSTANTIATE|public|private|extern|using|friend)[^a-z]/) return
  if (line ~ /^(struct|class|union|enum) /) {
    if (line ~ /;$/ && is == "header") return # only declared here
    sub(/^(struct|class|union|enum class|enum) /, "", line)
    sub(/[^A-Za-z_0-9].*/, "", line)
    note(line, FILENAME)
    return
  }
  if (is == "header") return # functions may be overloaded
  while (gsub(/<[^<>]*>/, "", line)) {}
  sub(/[(={;\[].*/, "", line)
  if (line ~ /::[A-Za-z_0-9]+ *$/ || line ~ /operator *$/) return # a member's definition
  gsub(/[^A-Za-z_0-9]+/, " ", line)
  n = split(line, words, " ")
  if (n > 0) note(words[n], FILENAME)
}

function note(name, text) {
  if (is == "header") {
    in_header[name] = text
    types_of[FILENAME] = types_of[FILENAME] " " name
  } else if (!((count, name) in text_of)) {
    names[count] = names[count] " " name
    text_of[count, name] = text
  }
}

function clashes(file, name) {
  return (name in in_header) && in_header[name] != text_of[file, name]
}

function fits(group, file,   n, k, list, name) {
  if (size[group] > 0 && size[group] + length_of[file] > lines) return 0
  n = split(names[file], list, " ")
  for (k = 1; k <= n; ++k) {
    name = list[k]
    if (clashes(file, name)) return 0
    if ((group, name) in taken && taken[group, name] != text_of[file, name]) return 0
  }
  return !alone[group]
}

END {
  for (f = 1; f <= count; ++f) {
    if (f in opened) {
      names[f] = names[f] " using"
      text_of[f, "using"] = opened[f]
    }
    folder = files[f]
    sub(/\/[^\/]*$/, "", folder)
    for (g = 1; g <= groups; ++g)
      if (folder_of[g] == folder && fits(g, f)) break
    if (g > groups) {
      folder_of[++groups] = folder
      # Named by folder: a file more in one does not rename, and recompile, the groups of the others.
      name = folder
      sub(/.*\//, "", name)
      name_of[g] = name "_" (groups_in[folder] += 1)
    }
    size[g] += length_of[f]
    n = split(names[f], list, " ")
    for (k = 1; k <= n; ++k) {
      taken[g, list[k]] = text_of[f, list[k]]
      if (clashes(f, list[k])) alone[g] = 1
    }
    print name_of[g] "\t" files[f]
  }
}
