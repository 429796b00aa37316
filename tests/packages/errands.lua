-- SPDX-License-Identifier: Apache-2.0
-- What an editor does with its event loop, each a known number of times; then it
-- says what came of it, and leaves with a status of its own.
local uv = vim.loop
local said = {}

local function say(...)
	table.insert(said, string.format(...))
end

-- A timer that fires five times, and one that is stopped before it does.
local ticks = 0
local timer, never = uv.new_timer(), uv.new_timer()
timer:start(5, 5, function()
	ticks = ticks + 1
	if ticks == 5 then
		timer:stop()
		timer:close()
	end
end)
never:start(60000, 0, function() say("a stopped timer fired") end)
never:stop()
never:close()

-- Files, by the pool: open, read, close, one in the callback of the other.
local path, content = os.getenv("HOME") .. "/errand", nil
uv.fs_open(path, "w", 420, function(_, fd)
	uv.fs_write(fd, "errand\n", -1, function()
		uv.fs_close(fd, function()
			uv.fs_stat(path, function(_, stat) content = stat.size end)
		end)
	end)
end)

-- Work for the pool, its result back here.
local sum
uv.new_work(function(n)
	local total = 0
	for i = 1, n do total = total + i end
	return total
end, function(total) sum = total end):queue(1000)

-- A pipe to ourselves, and another thread's wake.
local heard = ""
local ends = uv.pipe()
local reader, writer = uv.new_pipe(), uv.new_pipe()
reader:open(ends.read)
writer:open(ends.write)
reader:read_start(function(_, data)
	if data then heard = heard .. data else reader:close() end
end)
writer:write("to myself", function() writer:close() end)
local woken = false
local async
async = uv.new_async(function() woken = true; async:close() end)
async:send()

-- Jobs: shells with what they inherited, one that fails, one that is killed.
local jobs, output = {}, {}
local function job(name, command)
	return vim.fn.jobstart(command, {
		stdout_buffered = true,
		stderr_buffered = true,
		on_stdout = function(_, data) output[name] = table.concat(data, "|") end,
		on_stderr = function(_, data) output[name .. "-err"] = table.concat(data, "|") end,
		on_exit = function(_, code) jobs[name] = code end,
	})
end
job("echo", { "/bin/echo", "hello" })
job("shell", "for i in 1 2 3; do /bin/cat /dev/null; echo $i; done; exit 3")
vim.fn.jobstop(job("sleep", { "/bin/sleep", "60" }))

-- A terminal, with a program in it.
local screen
vim.cmd("enew")
vim.fn.termopen({ "/bin/sh", "-c", "echo in a terminal" }, {
	on_exit = function() vim.schedule(function()
		screen = vim.fn.getline(1)
	end) end,
})

local done = vim.wait(20000, function()
	return ticks == 5 and content and sum and heard == "to myself" and woken and jobs.echo and jobs.shell
		and jobs.sleep and screen and screen ~= ""
end, 5)

say("done %s ticks %d bytes %s sum %s heard %s woken %s", done, ticks, content, sum, heard, woken)
say("echo %s %s %s", jobs.echo, output.echo, output["echo-err"])
say("shell %s %s %s", jobs.shell, output.shell, output["shell-err"])
say("sleep %s", jobs.sleep)
say("screen %s", screen)
io.stdout:write(table.concat(said, "\n") .. "\n")
vim.cmd("cquit 5")
