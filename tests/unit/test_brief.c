/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ functions, as compilers and demanglers make them. */
#include "cli/brief.h"

#include "check.h"

static void check(const char *name, const char *wanted)
{
	char brief[256];

	brief_name(name, brief, sizeof(brief));
	CHECK_STR_EQ(brief, wanted);
}

static void arguments_are_left_out(void)
{
	check("std::map<int, std::pair<long, char> >::emplace<int&>(int&, (point)1)",
	      "std::map<...>::emplace<...>(...)");
	check("run(std::function<void (int)>) const", "run(...) const");
	check("main", "main");
	check("server::stop()", "server::stop()");
}

static void operators_and_nameless_spaces_stay(void)
{
	check("operator<(key<int> const&, key<int> const&)", "operator<(...)");
	check("std::less<int>::operator()(int const&, int const&) const",
	      "std::less<...>::operator()(...) const");
	check("smart<node>::operator->()", "smart<...>::operator->()");
	check("(anonymous namespace)::go(int)", "(anonymous namespace)::go(...)");
	check("call<&node::operator->, 3>(int)", "call<...>(...)");
}

static void what_is_no_name_is_no_trouble(void)
{
	char brief[8];

	check("a<b(c", "a<b(c");
	check("a>b)c", "a>b)c");
	check("", "");
	brief_name("abcdefghijklm<int>", brief, sizeof(brief));
	CHECK_STR_EQ(brief, "abcdefg");
}

int main(void)
{
	RUN(arguments_are_left_out);
	RUN(operators_and_nameless_spaces_stay);
	RUN(what_is_no_name_is_no_trouble);
	return check_done();
}
