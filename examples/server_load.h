/* SPDX-License-Identifier: Apache-2.0 */
/* Clients for the server of this folder, in a process of their own. */
#ifndef SERVER_LOAD_H
#define SERVER_LOAD_H

#include <netinet/in.h>

/*
 * Begins to ask the server for `seconds`. To be called while the program has one
 * thread. Returns a descriptor that hangs up when it is over.
 */
int load_start(const struct sockaddr_in *server, long seconds);

/* The exit status of the load, which is over; 0 if there was none. */
int load_result(void);

#endif /* SERVER_LOAD_H */
