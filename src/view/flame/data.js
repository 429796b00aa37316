// SPDX-License-Identifier: Apache-2.0
// What the page was given: frames in preorder, root first. The format is
// described in src/view/flame_html.c.

const CPU = 0, WAIT = 1, QUEUED = 2, WALL = 3, VALUES = 4;
const NATIVE = 0, RUNNING = 1, AWAIT = 2, ARMED = 3, INLINED = 4, NOTE = 5, LABEL = 6;
const KIND_WORDS = ['native', 'running task', 'awaits', 'armed a callback', 'inlined', 'no code', 'label of tasks'];

// Reads varints out of base64 text. Sums stay exact up to 2^53.
class Bytes {
	constructor(text) {
		const binary = atob(text.trim());
		this.at = 0;
		this.bytes = new Uint8Array(binary.length);
		for (let i = 0; i < binary.length; i++)
			this.bytes[i] = binary.charCodeAt(i);
	}
	byte() {
		return this.bytes[this.at++];
	}
	varint() {
		let byte = this.bytes[this.at++], value = byte & 127, scale = 128;
		while (byte > 127) {
			byte = this.bytes[this.at++];
			value += (byte & 127) * scale;
			scale *= 128;
		}
		return value;
	}
}

class Graph {
	constructor(meta, nodes, shares) {
		const count = meta.nodes;
		this.meta = meta;
		this.count = count;
		this.sides = meta.traces.length;
		this.parent = new Int32Array(count);
		this.name = new Int32Array(count);
		this.depth = new Int32Array(count);
		this.end = new Int32Array(count); // one past the last frame below it
		this.self = this.makeValues();
		this.counts = this.makeValues();
		this.readNodes(new Bytes(nodes));
		this.readShares(new Bytes(shares));
		this.linkChildren();
		this.cache = new Map();
	}

	makeValues() {
		const arrays = [];
		for (let i = 0; i < this.sides * VALUES; i++)
			arrays.push(new Float64Array(this.count));
		return arrays;
	}

	readNodes(from) {
		for (let node = 0; node < this.count; node++) {
			if (node > 0) {
				let parent = node - 1;
				for (let up = from.varint(); up > 0; up--)
					parent = this.parent[parent];
				this.parent[node] = parent;
				this.depth[node] = this.depth[parent] + 1;
				this.name[node] = from.varint();
			}
			for (let side = 0; side < this.sides; side++)
				this.readValues(from, node, side);
		}
		this.end.forEach((_, node) => { this.end[node] = node + 1; });
		for (let node = this.count - 1; node > 0; node--) {
			const parent = this.parent[node];
			if (this.end[node] > this.end[parent])
				this.end[parent] = this.end[node];
		}
	}

	readValues(from, node, side) {
		const mask = from.byte();
		for (let value = 0; value < VALUES; value++) {
			if (!(mask >> value & 1))
				continue;
			this.self[side * VALUES + value][node] = from.varint();
			this.counts[side * VALUES + value][node] = from.varint();
		}
	}

	// Shares are in the order of their nodes, so those of a subtree lie together.
	readShares(from) {
		const {tasks, shares} = this.meta;
		this.tasks = [];
		for (let i = 0; i < tasks; i++) {
			const high = from.varint(), low = from.varint();
			this.tasks.push({id: (BigInt(high) << 32n | BigInt(low)).toString(), label: from.varint()});
		}
		this.shareNode = new Int32Array(shares);
		this.shareValue = new Uint8Array(shares);
		this.shareTask = new Int32Array(shares);
		this.shareTime = new Float64Array(shares);
		for (let i = 0, node = 0; i < shares; i++) {
			const step = from.varint();
			node += Math.floor(step / 4);
			this.shareNode[i] = node;
			this.shareValue[i] = step % 4;
			this.shareTask[i] = from.varint();
			this.shareTime[i] = from.varint();
		}
	}

	// Each frame's children as a slice of one array, to be sorted where they are looked at.
	linkChildren() {
		this.childStart = new Int32Array(this.count + 1);
		for (let node = 1; node < this.count; node++)
			this.childStart[this.parent[node] + 1]++;
		for (let node = 0; node < this.count; node++)
			this.childStart[node + 1] += this.childStart[node];
		const next = this.childStart.slice();
		this.child = new Int32Array(this.count);
		for (let node = 1; node < this.count; node++)
			this.child[next[this.parent[node]]++] = node;
		this.sortedBy = new Array(this.count).fill(null);
	}

	// The children, those with the most first; the same array until the next sort.
	children(node, totals) {
		const slice = this.child.subarray(this.childStart[node], this.childStart[node + 1]);
		if (slice.length > 1 && this.sortedBy[node] !== totals) {
			slice.sort((a, b) => totals[b] - totals[a] || a - b);
			this.sortedBy[node] = totals;
		}
		return slice;
	}

	sumUp(own) {
		const totals = own.slice();
		for (let node = this.count - 1; node > 0; node--)
			totals[this.parent[node]] += totals[node];
		return totals;
	}

	join(one, two, how) {
		return one.map((value, node) => how(value, two[node]));
	}

	// Samples, or waits: of those, most are counted twice, as pending and as queued. Wall time has no count.
	countUp(metric, at) {
		if (metric === 'wall')
			return {counts: null, countTotal: null};
		if (metric === 'cpu')
			return {counts: this.counts[at + CPU], countTotal: this.sumUp(this.counts[at + CPU])};
		const [pending, queued] = [this.counts[at + WAIT], this.counts[at + QUEUED]];
		return {counts: this.join(pending, queued, Math.max), countTotal: this.join(this.sumUp(pending), this.sumUp(queued), Math.max)};
	}

	// Own and total times and counts by a metric: 'cpu', 'wait' (which has a queued part), 'wall'.
	measure(metric, side) {
		const key = metric + side, at = side * VALUES;
		let measured = this.cache.get(key);
		if (measured)
			return measured;
		const self = metric === 'cpu' ? this.self[at + CPU] : metric === 'wall' ? this.self[at + WALL] :
			this.join(this.self[at + WAIT], this.self[at + QUEUED], (a, b) => a + b);
		measured = {self, total: this.sumUp(self)};
		Object.assign(measured, this.countUp(metric, at));
		measured.rows = this.depth.reduce((most, depth, node) => measured.total[node] > 0 && depth > most ? depth : most, 0) + 1;
		measured.queued = metric === 'cpu' ? null : this.sumUp(this.self[at + QUEUED]);
		measured.values = metric === 'cpu' ? [CPU] : metric === 'wait' ? [WAIT, QUEUED] : [WALL];
		this.cache.set(key, measured);
		return measured;
	}

	string(index) {
		return this.meta.strings[index];
	}
	nameCount() {
		return this.meta.names.length / 5;
	}
	functionOf(name) {
		return name === 0 ? 'all' : this.string(this.meta.names[name * 5]) || '(no name)';
	}
	moduleOf(name) {
		return this.string(this.meta.names[name * 5 + 1]);
	}
	placeOf(name) {
		const file = this.string(this.meta.names[name * 5 + 2]), line = this.meta.names[name * 5 + 3];
		return file && line ? `${file}:${line}` : file;
	}
	kindOf(name) {
		const kind = this.meta.names[name * 5 + 4];
		return kind === NOTE && name > 0 && !this.functionOf(name).startsWith('[') ? LABEL : kind;
	}
	isCode(node) {
		return this.kindOf(this.name[node]) < NOTE;
	}
	label(node) {
		return this.functionOf(this.name[node]);
	}
	isAsync(node) {
		const kind = this.kindOf(this.name[node]);
		return kind === AWAIT || kind === ARMED || kind === RUNNING;
	}

	// Frames from the root to this one.
	path(node) {
		const path = [node];
		while (node > 0)
			path.push(node = this.parent[node]);
		return path.reverse();
	}

	// The tasks behind a frame and all below it, most first, and how much is of others. A frame that has more
	// tasks than it lists may have some that another one lists: then the times are the `least` that there is.
	tasksOf(node, measured) {
		const sums = new Map(), listed = new Map();
		let known = 0;
		for (let i = this.firstShare(node); i < this.shareNode.length && this.shareNode[i] < this.end[node]; i++) {
			if (!measured.values.includes(this.shareValue[i]))
				continue;
			const task = this.shareTask[i], frame = this.shareNode[i], time = this.shareTime[i];
			sums.set(task, (sums.get(task) || 0) + time);
			listed.set(frame, (listed.get(frame) || 0) + time);
			known += time;
		}
		const list = [...sums].map(([task, time]) => ({task, time}));
		list.sort((a, b) => b.time - a.time || a.task - b.task);
		const least = listed.size > 1 && [...listed].some(([frame, time]) => time < measured.self[frame] * 0.9995);
		return {list, least, others: Math.max(0, measured.total[node] - known)};
	}

	firstShare(node) {
		let low = 0, high = this.shareNode.length;
		while (low < high) {
			const middle = low + high >> 1;
			if (this.shareNode[middle] < node)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	// Own and total time of each function below a frame; a recursive one counts once.
	functionsOf(node, measured) {
		const open = new Int32Array(this.nameCount()), rows = new Map(), within = [];
		for (let i = node; i < this.end[node]; i++) {
			while (within.length && this.end[within[within.length - 1]] <= i)
				open[this.name[within.pop()]]--;
			const name = this.name[i];
			let row = rows.get(name);
			if (!row)
				rows.set(name, row = {name, self: 0, total: 0});
			row.self += measured.self[i];
			if (open[name]++ === 0)
				row.total += measured.total[i];
			within.push(i);
		}
		return [...rows.values()].filter((row) => row.name !== 0 && row.total > 0);
	}

	// Marks frames whose name is wanted; what they took, those inside of each other once.
	match(wanted, node, measured) {
		let sum = 0, frames = 0;
		for (let i = node; i < this.end[node];) {
			if (wanted[this.name[i]] && i > 0) {
				sum += measured.total[i];
				frames++;
				i = this.end[i];
			} else {
				i++;
			}
		}
		return {sum, frames};
	}
}
