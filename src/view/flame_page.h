/* SPDX-License-Identifier: Apache-2.0 */
/* The page that shows a flame graph, without one. Made from src/view/flame/ by tools/embed-page. */
#ifndef VIEW_FLAME_PAGE_H
#define VIEW_FLAME_PAGE_H

extern const char flame_page[];

#endif /* VIEW_FLAME_PAGE_H */
