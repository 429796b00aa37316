/* SPDX-License-Identifier: Apache-2.0 */
/* Who knows the sites that events speak of: a trace, or whoever looks at a living program. */
#ifndef MODEL_SITES_H
#define MODEL_SITES_H

#include "trace/reader.h"

struct model_sites {
	/* NULL: it is not known yet. Else it stays where it is as long as the model does. */
	const struct reader_site *(*find)(const void *data, uint32_t site);
	const void *data;
};

static inline const struct reader_site *model_sites_in_reader(const void *reader, uint32_t site)
{
	return reader_site((const struct reader *)reader, site);
}

static inline struct model_sites model_sites_of(const struct reader *reader)
{
	return (struct model_sites){model_sites_in_reader, reader};
}

static inline const struct reader_site *model_site(const struct model_sites *sites, uint32_t site)
{
	return sites->find(sites->data, site);
}

#endif /* MODEL_SITES_H */
