// SPDX-License-Identifier: Apache-2.0
/*
 * Turns on the tracking of Asio's handlers, in all files that a compiler is given, by
 * `-include unweave/asio.hpp`: see unweave/asio_tracking.hpp.
 */
#ifndef UNWEAVE_ASIO_HPP
#define UNWEAVE_ASIO_HPP

#ifndef BOOST_ASIO_CUSTOM_HANDLER_TRACKING
#define BOOST_ASIO_CUSTOM_HANDLER_TRACKING <unweave/asio_tracking.hpp>
#endif

#ifndef ASIO_CUSTOM_HANDLER_TRACKING
#define ASIO_CUSTOM_HANDLER_TRACKING <unweave/asio_tracking.hpp>
#endif

#endif // UNWEAVE_ASIO_HPP
