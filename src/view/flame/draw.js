// SPDX-License-Identifier: Apache-2.0
// The canvas: where frames lie, how they look, and which one is under the pointer.
//
// The horizontal axis is the time of the whole graph; zooming changes the part
// of it that is shown. Frames narrower than half a pixel are not looked at one
// by one: siblings are sorted, so the rest of them is one grey rectangle.

const ROW_LEAST = 21, ROW_MOST = 27, PAD = 10, SLIVER = 0.5, LABEL_FROM = 26, REST = -1;
const FONT = '12px system-ui, "Segoe UI", Roboto, Cantarell, "Noto Sans", "DejaVu Sans", sans-serif';
const ZOOM_MS = 220;

class Canvas {
	constructor(graph, colours) {
		this.graph = graph;
		this.colours = colours;
		this.canvas = byId('canvas');
		this.scroll = byId('scroll');
		this.spacer = byId('spacer');
		this.context = this.canvas.getContext('2d');
		this.rows = [];
		this.widths = new Map(); // of labels, in pixels
		this.view = {from: 0, to: 1};
		this.zoomed = 0;
		this.flame = true;
		this.marked = null; // by node: 1 if it is found; null if nothing is searched
		this.scroll.addEventListener('scroll', () => this.requestDraw());
	}

	// Which times are shown; lays out again.
	show(measured) {
		this.measured = measured;
		this.all = measured.total[0];
		this.view = this.rangeOf(this.zoomed);
		this.chooseRow();
		this.layout();
	}

	// Few rows may be higher. By all there are, so that a zoom changes nothing.
	chooseRow() {
		const room = Math.floor(this.height * 0.7 / this.measured.rows);
		this.row = Math.max(ROW_LEAST, Math.min(ROW_MOST, room));
		this.canvas.dataset.row = this.row;
	}

	// Where a frame lies in the whole, from 0 to 1.
	rangeOf(node) {
		const {total} = this.measured, path = this.graph.path(node);
		let from = 0;
		for (let i = 1; i < path.length; i++) {
			for (const child of this.graph.children(path[i - 1], total)) {
				if (child === path[i])
					break;
				from += total[child];
			}
		}
		return this.all > 0 ? {from: from / this.all, to: (from + total[node]) / this.all} : {from: 0, to: 1};
	}

	zoom(node, animated) {
		const start = performance.now(), before = this.view;
		this.zoomed = node;
		const after = this.rangeOf(node);
		this.moving = (this.moving || 0) + 1;
		const move = this.moving;
		const step = (now) => {
			if (move !== this.moving)
				return;
			const done = Math.min(1, Math.max(0, (now - start) / ZOOM_MS)), eased = 1 - (1 - done) ** 3;
			this.view = done === 1 ? after : {
				from: before.from + (after.from - before.from) * eased,
				to: before.to + (after.to - before.to) * eased,
			};
			this.layout();
			if (done < 1)
				requestAnimationFrame(step);
		};
		if (animated && !matchMedia('(prefers-reduced-motion: reduce)').matches)
			requestAnimationFrame(step);
		else
			step(start + ZOOM_MS);
	}

	resize() {
		const ratio = window.devicePixelRatio || 1;
		this.width = Math.max(50, this.scroll.clientWidth);
		this.height = Math.max(50, this.scroll.clientHeight);
		this.canvas.width = Math.round(this.width * ratio);
		this.canvas.height = Math.round(this.height * ratio);
		this.canvas.style.width = `${this.width}px`;
		this.canvas.style.height = `${this.height}px`;
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
	}

	layout() {
		const fromBottom = this.spacer.offsetHeight - this.scroll.scrollTop - this.scroll.clientHeight;
		this.rows = [];
		if (this.all > 0)
			this.place();
		const needed = this.rows.length * this.row + 2 * PAD;
		this.content = Math.max(needed, this.height);
		this.spacer.style.height = `${this.content}px`;
		if (this.flame)
			this.scroll.scrollTop = this.content - this.scroll.clientHeight - Math.max(0, fromBottom);
		this.draw();
	}

	// Fills `rows` with what is visible of each depth, left to right.
	place() {
		const {from, to} = this.view, width = this.width - 2 * PAD;
		const axis = {start: from * this.all, scale: width / ((to - from) * this.all), width};
		const stack = [{node: 0, at: 0}];
		this.putSpan(0, 0, -axis.start * axis.scale, this.all * axis.scale, width);
		while (stack.length) {
			const {node, at} = stack.pop();
			const children = this.placeChildren(node, at, axis);
			while (children.length) // the leftmost is visited first
				stack.push(children.pop());
		}
	}

	// Puts the children of a frame that begins at a time; those that are to be visited.
	placeChildren(node, at, {start, scale, width}) {
		const {total} = this.measured, children = this.graph.children(node, total);
		const depth = this.graph.depth[node] + 1, visit = [];
		for (let i = 0; i < children.length; i++) {
			const x = (at - start) * scale, time = total[children[i]], w = time * scale;
			if (time === 0 || x >= width)
				break;
			if (w < SLIVER) {
				let rest = 0;
				for (; i < children.length; i++)
					rest += total[children[i]];
				this.putSpan(depth, REST, x, rest * scale, width);
				break;
			}
			if (x + w > 0) {
				this.putSpan(depth, children[i], x, w, width);
				visit.push({node: children[i], at});
			}
			at += time;
		}
		return visit;
	}

	// Puts what is to be seen of a span.
	putSpan(depth, node, x, w, width) {
		const left = Math.max(0, x), right = Math.min(width, x + w);
		if (right - left >= SLIVER)
			this.put(depth, node, left + PAD, right - left);
	}

	put(depth, node, x, w) {
		while (this.rows.length <= depth)
			this.rows.push({x: [], w: [], node: []});
		const row = this.rows[depth];
		row.x.push(x);
		row.w.push(w);
		row.node.push(node);
	}

	top(depth) {
		return (this.flame ? this.content - PAD - (depth + 1) * this.row : PAD + depth * this.row) - this.scroll.scrollTop;
	}

	requestDraw() {
		if (this.requested)
			return;
		this.requested = true;
		requestAnimationFrame(() => {
			this.requested = false;
			this.draw();
		});
	}

	draw() {
		const {context} = this, theme = this.colours.theme;
		context.fillStyle = theme.paper;
		context.fillRect(0, 0, this.width, this.height);
		context.font = FONT;
		context.textBaseline = 'middle';
		this.above = new Set(this.graph.path(this.zoomed).slice(0, -1));
		for (let depth = 0; depth < this.rows.length; depth++) {
			const y = this.top(depth);
			if (y + this.row > 0 && y < this.height)
				this.drawRow(this.rows[depth], y);
		}
		context.globalAlpha = 1;
		this.drawOutline(this.focused, 2);
		if (this.hovered !== this.focused)
			this.drawOutline(this.hovered, 1);
	}

	drawRow(row, y) {
		for (let i = 0; i < row.node.length; i++)
			this.drawFrame(row.node[i], row.x[i], y, row.w[i]);
	}

	drawFrame(node, x, y, w) {
		const {context} = this, h = this.row - 1, shown = w > 3 ? w - 1 : w;
		context.globalAlpha = this.alpha(node);
		context.fillStyle = node === REST ? this.colours.quiet() : this.colourOf(node);
		if (w > 8) {
			context.beginPath();
			context.roundRect(x, y, shown, h, 2.5);
			context.fill();
		} else {
			context.fillRect(x, y, shown, h);
		}
		if (node === REST)
			return;
		if (w > 2)
			this.drawMarks(node, x, y, shown, h);
		if (w >= LABEL_FROM)
			this.drawLabel(node, x, y, shown, h);
	}

	alpha(node) {
		if (this.marked)
			return node !== REST && this.marked[node] ? 1 : 0.22;
		return this.above.has(node) ? 0.5 : 1;
	}

	colourOf(node) {
		if (node === 0)
			return this.colours.quiet();
		if (this.colours.scheme === 'change')
			return this.colours.ofChange(this.changeOf(node));
		return this.colours.ofName(this.graph.name[node]);
	}

	changeOf(node) {
		const share = (measured) => measured.total[0] > 0 ? measured.total[node] / measured.total[0] : 0;
		return relativeChange(share(this.sides[0]), share(this.sides[1]));
	}

	// The edge where async and native code meet, what waits in a queue, and who awaits.
	drawMarks(node, x, y, w, h) {
		const {context, graph} = this, theme = this.colours.theme, kind = graph.kindOf(graph.name[node]);
		const parent = graph.parent[node];
		if (parent > 0 && graph.isCode(node) && graph.isCode(parent) &&
		    graph.isAsync(node) !== graph.isAsync(parent)) {
			context.fillStyle = theme.edge;
			context.fillRect(x, this.flame ? y + h - 1.5 : y - 0.5, w, 2);
		}
		if (this.colours.scheme !== 'kind' && graph.isAsync(node)) {
			context.fillStyle = this.colours.kindColour(kind, 0.5);
			context.fillRect(x, y, Math.min(4, w), h);
		}
		const queued = this.measured.queued ? this.measured.queued[node] : 0;
		if (queued > 0 && node > 0) {
			context.fillStyle = theme.strip;
			context.fillRect(x, y + h - 2.5, w * Math.min(1, queued / this.measured.total[node]), 2.5);
		}
	}

	drawLabel(node, x, y, w, h) {
		const inset = this.colours.scheme !== 'kind' && this.graph.isAsync(node) ? 9 : 6;
		const label = this.fit(this.graph.label(node), w - inset - 4);
		if (!label)
			return;
		this.context.fillStyle = this.colours.theme.ink;
		this.context.fillText(label, x + inset, y + h / 2 + 0.5);
	}

	widthOf(text) {
		let width = this.widths.get(text);
		if (width === undefined) {
			if (this.widths.size > 50000)
				this.widths.clear();
			this.widths.set(text, width = this.context.measureText(text).width);
		}
		return width;
	}

	// The text, cut to a width with an ellipsis; '' if next to nothing of it fits.
	fit(text, width) {
		if (text.length > 400)
			text = text.slice(0, 400);
		const whole = this.widthOf(text);
		if (whole <= width)
			return text;
		let low = 0, high = text.length;
		while (low < high) {
			const middle = low + high + 1 >> 1;
			if (this.context.measureText(text.slice(0, middle) + '…').width <= width)
				low = middle;
			else
				high = middle - 1;
		}
		return low >= 2 ? text.slice(0, low).trimEnd() + '…' : '';
	}

	drawOutline(node, thickness) {
		const at = node === null || node === undefined ? null : this.find(node);
		if (!at)
			return;
		this.context.strokeStyle = this.colours.theme.outline;
		this.context.lineWidth = thickness;
		this.context.beginPath();
		this.context.roundRect(at.x + thickness / 2, at.y + thickness / 2, Math.max(1, at.w - 1 - thickness), this.row - 1 - thickness, 2.5);
		this.context.stroke();
	}

	// Where a frame is on the canvas; null if it is too narrow to be there.
	find(node) {
		const depth = this.graph.depth[node], row = this.rows[depth], i = row ? row.node.indexOf(node) : -1;
		return i < 0 ? null : {x: row.x[i], w: row.w[i], y: this.top(depth)};
	}

	// The frame at a point; null if there is none.
	hit(x, y) {
		const depth = Math.floor(this.flame ? (this.content - PAD - (y + this.scroll.scrollTop)) / this.row :
			(y + this.scroll.scrollTop - PAD) / this.row);
		const row = this.rows[depth];
		if (!row)
			return null;
		let low = 0, high = row.x.length - 1;
		while (low <= high) {
			const middle = low + high >> 1;
			if (x < row.x[middle])
				high = middle - 1;
			else if (x >= row.x[middle] + row.w[middle])
				low = middle + 1;
			else
				return row.node[middle] === REST ? null : row.node[middle];
		}
		return null;
	}

	// Scrolls until the row of a frame is in sight.
	reveal(node) {
		const y = this.top(this.graph.depth[node]);
		if (y < PAD)
			this.scroll.scrollTop += y - PAD;
		else if (y + this.row > this.height - PAD)
			this.scroll.scrollTop += y + this.row + PAD - this.height;
	}
}
