/* SPDX-License-Identifier: Apache-2.0 */
int inner(void);
int outer(void);

int outer(void)
{
	return inner();
}
