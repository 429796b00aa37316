# SPDX-License-Identifier: Apache-2.0
# Joins source files: each of our own includes in its place, once. What several
# files define for themselves (a static, a macro, a struct) is renamed inside each .c file.
#
#     public      set: the public headers themselves; else they are left out
#     variables   names that must be told apart, or else this fails

BEGIN {
	for (i = 1; i < ARGC; i++)
		read(ARGV[i])
	for (i = split(variables, name, "\n"); i > 0; i--)
		if (!(name[i] in clashes))
			fail("cannot tell static variables apart: " name[i])
	for (i = 1; i < ARGC; i++)
		put(ARGV[i])
	exit 0
}

function fail(sentence)
{
	print "amalgamate: " sentence >"/dev/stderr"
	exit 1
}

# The file that an #include line of ours names; "": none, or one to leave out.
function included(line, from)
{
	if (line !~ /^#[ \t]*include[ \t]*"/)
		return ""
	gsub(/^[^"]*"|".*$/, "", line)
	if (line == "unweave.h" || line ~ /^unweave\//)
		return public ? "include/" line : ""
	if (line ~ /\//)
		return "src/" line
	sub(/[^\/]*$/, "", from)
	return from line
}

# Keeps the lines of a file, and of those it includes, and what they define.
function read(path, line, got)
{
	if (path in lines)
		return
	lines[path] = 0
	while ((got = getline line <path) > 0) {
		text[path, ++lines[path]] = line
		if (line ~ /^[A-Za-z]|^#[ \t]*(if|define)/ && !(path in head))
			head[path] = lines[path] - 1
		if (included(line, path) != "")
			read(included(line, path))
		note(path, line)
	}
	if (got < 0)
		fail("cannot read " path)
	close(path)
}

# Notes what a line at file scope defines. The style makes it plain to see: such
# a line starts at the margin.
function note(path, line)
{
	if (named_below) {
		# A long type has a line of its own.
		named_below = 0
		split(line, word, "(")
		define(path, word[1])
	} else if (line ~ /^#define /) {
		split(line, word, /[ (]/)
		define(path, word[2])
		macro[path, word[2]]
	} else if (line ~ /^(struct|union|enum) [a-z_0-9]+ \{/) {
		split(line, word, " ")
		define(path, word[2])
	} else if (line ~ /^static .*[^{]$|^static .*[=(].*\{$|^\} [a-z_0-9]+( =|\[|;)/) {
		gsub(/__attribute__\(\([^()]*(\([^)]*\))?\)\) ?/, "", line)
		if (line !~ /[=;[({]/) {
			named_below = 1
			return
		}
		sub(/ *([=;[]|\(([^*]|$)|\)\().*/, "", line)
		if (match(line, /[A-Za-z_0-9]+$/))
			define(path, substr(line, RSTART))
	}
}

function define(path, name)
{
	if ((path, name) in own)
		return
	own[path, name]
	owns[path] = owns[path] " " name
	if (name in owner)
		clashes[name]
	owner[name] = path
}

function put(path, i)
{
	if (done[path]++)
		return
	for (i = 1; i <= lines[path]; i++) {
		if (path ~ /\.c$/ && i == head[path] + 1)
			rename(path)
		if (text[path, i] !~ /^#[ \t]*include[ \t]*"/)
			print text[path, i]
		else if (included(text[path, i], path) != "")
			put(included(text[path, i], path))
	}
	if (path ~ /\.c$/)
		restore(path)
}

function rename(path, name, i, prefix)
{
	prefix = path
	gsub(/^src\/|\.c$/, "", prefix)
	gsub(/\//, "_", prefix)
	for (i = split(owns[path], name, " "); i > 0; i--) {
		if (!(name[i] in clashes))
			continue
		print "#pragma push_macro(\"" name[i] "\")"
		print "#undef " name[i]
		if (!((path, name[i]) in macro))
			print "#define " name[i] " " prefix "_c_" name[i]
	}
}

function restore(path, name, i)
{
	for (i = split(owns[path], name, " "); i > 0; i--) {
		if (!(name[i] in clashes))
			continue
		print "#undef " name[i]
		print "#pragma pop_macro(\"" name[i] "\")"
	}
}
