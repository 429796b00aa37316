/* SPDX-License-Identifier: Apache-2.0 */
int inner(void);

int inner(void)
{
	return 1;
}
