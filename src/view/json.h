/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON. `key` is NULL within an array and for the outermost value. */
#ifndef VIEW_JSON_H
#define VIEW_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *to;
	bool comma; /* the next element needs one before it */
};

void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                 /* '}' or ']' */
void json_number(struct json *json, const char *key, uint64_t number);
void json_signed(struct json *json, const char *key, int64_t number);
void json_real(struct json *json, const char *key, double number);
/* A number of thousandths, or whatever is `digits` behind the point; exactly, at most 19. */
void json_fixed(struct json *json, const char *key, uint64_t number, unsigned digits);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
/* Bytes that are no UTF-8 become U+FFFD. */
void json_text(struct json *json, const char *key, const char *text);
/* Hexadecimal, as text: more digits than a JSON number keeps in many a program. */
void json_address(struct json *json, const char *key, uint64_t address);
/* What is JSON already. */
void json_raw(struct json *json, const char *key, const char *text, size_t bytes);

/* Ends the line after an outermost value. */
void json_line(struct json *json);

#endif /* VIEW_JSON_H */
