/* SPDX-License-Identifier: Apache-2.0 */
int outer(void);
int own_function(void);

int own_function(void)
{
	return 0;
}

int main(void)
{
	return outer() ? own_function() : 1;
}
