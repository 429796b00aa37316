/* SPDX-License-Identifier: Apache-2.0 */
/* Files: requests like others, but that there are so many. */
#include "libuv/libuv.h"

static void on_fs(uv_fs_t *req)
{
	struct call_args args = {.callback = req->reserved[REQUEST_CALLBACK], .object = req};

	call_request((uv_req_t *)req, go_object, &args, req->result);
}

/* Without a callback it is done before the function returns; and libuv has requests of its own. */
static bool arm(uv_fs_t *req, uv_fs_cb cb, const void *place)
{
	static const char kind[] = "fs";

	if (!req || !cb || cb == on_fs || IS_INSIDE(place))
		return false;
	request_keep((uv_req_t *)req, (void *)cb, NULL,
		     unweave_callback_arm(kind, (void *)cb, place, 0));
	return true;
}

#define ARM(function, loop, req, cb, ...)                                                          \
	(arm(req, cb, ADAPTER_PLACE)                                                               \
		 ? request_armed((uv_req_t *)(req), NEXT(function)(loop, req, __VA_ARGS__, on_fs)) \
		 : NEXT(function)(loop, req, __VA_ARGS__, cb))

ADAPTER_EXPORT int uv_fs_close(uv_loop_t *loop, uv_fs_t *req, uv_file file, uv_fs_cb cb)
{
	return ARM(uv_fs_close, loop, req, cb, file);
}

ADAPTER_EXPORT int uv_fs_open(uv_loop_t *loop, uv_fs_t *req, const char *path, int flags, int mode,
			      uv_fs_cb cb)
{
	return ARM(uv_fs_open, loop, req, cb, path, flags, mode);
}

ADAPTER_EXPORT int uv_fs_read(uv_loop_t *loop, uv_fs_t *req, uv_file file, const uv_buf_t buffers[],
			      unsigned count, int64_t offset, uv_fs_cb cb)
{
	return ARM(uv_fs_read, loop, req, cb, file, buffers, count, offset);
}

ADAPTER_EXPORT int uv_fs_unlink(uv_loop_t *loop, uv_fs_t *req, const char *path, uv_fs_cb cb)
{
	return ARM(uv_fs_unlink, loop, req, cb, path);
}

ADAPTER_EXPORT int uv_fs_write(uv_loop_t *loop, uv_fs_t *req, uv_file file,
			       const uv_buf_t buffers[], unsigned count, int64_t offset,
			       uv_fs_cb cb)
{
	return ARM(uv_fs_write, loop, req, cb, file, buffers, count, offset);
}

ADAPTER_EXPORT int uv_fs_copyfile(uv_loop_t *loop, uv_fs_t *req, const char *path,
				  const char *new_path, int flags, uv_fs_cb cb)
{
	return ARM(uv_fs_copyfile, loop, req, cb, path, new_path, flags);
}

ADAPTER_EXPORT int uv_fs_mkdir(uv_loop_t *loop, uv_fs_t *req, const char *path, int mode,
			       uv_fs_cb cb)
{
	return ARM(uv_fs_mkdir, loop, req, cb, path, mode);
}

ADAPTER_EXPORT int uv_fs_mkdtemp(uv_loop_t *loop, uv_fs_t *req, const char *template, uv_fs_cb cb)
{
	return ARM(uv_fs_mkdtemp, loop, req, cb, template);
}

ADAPTER_EXPORT int uv_fs_mkstemp(uv_loop_t *loop, uv_fs_t *req, const char *template, uv_fs_cb cb)
{
	return ARM(uv_fs_mkstemp, loop, req, cb, template);
}

ADAPTER_EXPORT int uv_fs_rmdir(uv_loop_t *loop, uv_fs_t *req, const char *path, uv_fs_cb cb)
{
	return ARM(uv_fs_rmdir, loop, req, cb, path);
}

ADAPTER_EXPORT int uv_fs_scandir(uv_loop_t *loop, uv_fs_t *req, const char *path, int flags,
				 uv_fs_cb cb)
{
	return ARM(uv_fs_scandir, loop, req, cb, path, flags);
}

ADAPTER_EXPORT int uv_fs_opendir(uv_loop_t *loop, uv_fs_t *req, const char *path, uv_fs_cb cb)
{
	return ARM(uv_fs_opendir, loop, req, cb, path);
}

ADAPTER_EXPORT int uv_fs_readdir(uv_loop_t *loop, uv_fs_t *req, uv_dir_t *dir, uv_fs_cb cb)
{
	return ARM(uv_fs_readdir, loop, req, cb, dir);
}

ADAPTER_EXPORT int uv_fs_closedir(uv_loop_t *loop, uv_fs_t *req, uv_dir_t *dir, uv_fs_cb cb)
{
	return ARM(uv_fs_closedir, loop, req, cb, dir);
}

ADAPTER_EXPORT int uv_fs_stat(uv_loop_t *loop, uv_fs_t *req, const char *path, uv_fs_cb cb)
{
	return ARM(uv_fs_stat, loop, req, cb, path);
}

ADAPTER_EXPORT int uv_fs_fstat(uv_loop_t *loop, uv_fs_t *req, uv_file file, uv_fs_cb cb)
{
	return ARM(uv_fs_fstat, loop, req, cb, file);
}

ADAPTER_EXPORT int uv_fs_lstat(uv_loop_t *loop, uv_fs_t *req, const char *path, uv_fs_cb cb)
{
	return ARM(uv_fs_lstat, loop, req, cb, path);
}

ADAPTER_EXPORT int uv_fs_statfs(uv_loop_t *loop, uv_fs_t *req, const char *path, uv_fs_cb cb)
{
	return ARM(uv_fs_statfs, loop, req, cb, path);
}

ADAPTER_EXPORT int uv_fs_rename(uv_loop_t *loop, uv_fs_t *req, const char *path,
				const char *new_path, uv_fs_cb cb)
{
	return ARM(uv_fs_rename, loop, req, cb, path, new_path);
}

ADAPTER_EXPORT int uv_fs_fsync(uv_loop_t *loop, uv_fs_t *req, uv_file file, uv_fs_cb cb)
{
	return ARM(uv_fs_fsync, loop, req, cb, file);
}

ADAPTER_EXPORT int uv_fs_fdatasync(uv_loop_t *loop, uv_fs_t *req, uv_file file, uv_fs_cb cb)
{
	return ARM(uv_fs_fdatasync, loop, req, cb, file);
}

ADAPTER_EXPORT int uv_fs_ftruncate(uv_loop_t *loop, uv_fs_t *req, uv_file file, int64_t length,
				   uv_fs_cb cb)
{
	return ARM(uv_fs_ftruncate, loop, req, cb, file, length);
}

ADAPTER_EXPORT int uv_fs_sendfile(uv_loop_t *loop, uv_fs_t *req, uv_file to, uv_file from,
				  int64_t offset, size_t length, uv_fs_cb cb)
{
	return ARM(uv_fs_sendfile, loop, req, cb, to, from, offset, length);
}

ADAPTER_EXPORT int uv_fs_access(uv_loop_t *loop, uv_fs_t *req, const char *path, int mode,
				uv_fs_cb cb)
{
	return ARM(uv_fs_access, loop, req, cb, path, mode);
}

ADAPTER_EXPORT int uv_fs_chmod(uv_loop_t *loop, uv_fs_t *req, const char *path, int mode,
			       uv_fs_cb cb)
{
	return ARM(uv_fs_chmod, loop, req, cb, path, mode);
}

ADAPTER_EXPORT int uv_fs_fchmod(uv_loop_t *loop, uv_fs_t *req, uv_file file, int mode, uv_fs_cb cb)
{
	return ARM(uv_fs_fchmod, loop, req, cb, file, mode);
}

ADAPTER_EXPORT int uv_fs_utime(uv_loop_t *loop, uv_fs_t *req, const char *path, double accessed,
			       double modified, uv_fs_cb cb)
{
	return ARM(uv_fs_utime, loop, req, cb, path, accessed, modified);
}

ADAPTER_EXPORT int uv_fs_futime(uv_loop_t *loop, uv_fs_t *req, uv_file file, double accessed,
				double modified, uv_fs_cb cb)
{
	return ARM(uv_fs_futime, loop, req, cb, file, accessed, modified);
}

ADAPTER_EXPORT int uv_fs_lutime(uv_loop_t *loop, uv_fs_t *req, const char *path, double accessed,
				double modified, uv_fs_cb cb)
{
	return ARM(uv_fs_lutime, loop, req, cb, path, accessed, modified);
}

ADAPTER_EXPORT int uv_fs_link(uv_loop_t *loop, uv_fs_t *req, const char *path, const char *new_path,
			      uv_fs_cb cb)
{
	return ARM(uv_fs_link, loop, req, cb, path, new_path);
}

ADAPTER_EXPORT int uv_fs_symlink(uv_loop_t *loop, uv_fs_t *req, const char *path,
				 const char *new_path, int flags, uv_fs_cb cb)
{
	return ARM(uv_fs_symlink, loop, req, cb, path, new_path, flags);
}

ADAPTER_EXPORT int uv_fs_readlink(uv_loop_t *loop, uv_fs_t *req, const char *path, uv_fs_cb cb)
{
	return ARM(uv_fs_readlink, loop, req, cb, path);
}

ADAPTER_EXPORT int uv_fs_realpath(uv_loop_t *loop, uv_fs_t *req, const char *path, uv_fs_cb cb)
{
	return ARM(uv_fs_realpath, loop, req, cb, path);
}

ADAPTER_EXPORT int uv_fs_chown(uv_loop_t *loop, uv_fs_t *req, const char *path, uv_uid_t uid,
			       uv_gid_t gid, uv_fs_cb cb)
{
	return ARM(uv_fs_chown, loop, req, cb, path, uid, gid);
}

ADAPTER_EXPORT int uv_fs_fchown(uv_loop_t *loop, uv_fs_t *req, uv_file file, uv_uid_t uid,
				uv_gid_t gid, uv_fs_cb cb)
{
	return ARM(uv_fs_fchown, loop, req, cb, file, uid, gid);
}

ADAPTER_EXPORT int uv_fs_lchown(uv_loop_t *loop, uv_fs_t *req, const char *path, uv_uid_t uid,
				uv_gid_t gid, uv_fs_cb cb)
{
	return ARM(uv_fs_lchown, loop, req, cb, path, uid, gid);
}
