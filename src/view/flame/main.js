// SPDX-License-Identifier: Apache-2.0
// The page: what is chosen, and what happens when something is clicked or typed.

const METRIC_WORDS = {cpu: 'CPU time', wait: 'waiting', wall: 'time of tasks'};

class Page {
	constructor(graph) {
		this.graph = graph;
		this.colours = new Colours(graph);
		this.canvas = new Canvas(graph, this.colours);
		this.panel = new Panel(this);
		this.metric = graph.meta.metric;
		this.side = 0;
		this.scheme = graph.sides > 1 ? 'change' : 'kind';
		this.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
		this.zoomed = 0;
		this.selected = 0;
		this.query = '';
		this.isRegex = false;
		this.task = null; // whose frames are shown
	}

	get measured() {
		return this.graph.measure(this.metric, this.side);
	}

	bothSides() {
		return [this.graph.measure(this.metric, 0), this.graph.measure(this.metric, 1)];
	}

	start() {
		this.showFacts();
		this.listen();
		byId('panel').hidden = innerWidth < 1100;
		if (this.graph.sides > 1) {
			byId('side').hidden = false;
			document.querySelector('#colours [data-value="change"]').hidden = false;
		}
		this.setTheme(this.theme);
		this.followAddress();
		this.update();
	}

	showFacts() {
		const {traces, folded} = this.graph.meta, [trace, other] = traces, facts = byId('facts');
		const fact = (number, word) => facts.append(element('span', null, element('b', null, number), ` ${word}`));
		fact(duration(trace.duration), 'recorded');
		fact(count(trace.tasks), trace.tasks === 1 ? 'task' : 'tasks');
		fact(count(trace.samples), trace.samples === 1 ? 'sample' : 'samples');
		if (trace.coverage !== null)
			fact(`${trace.coverage.toFixed(1)} %`, 'splice coverage');
		if (other)
			facts.append(element('span', null, 'against ', element('b', null, other.name), `, ${duration(other.duration)}`));
		for (const {lost, name} of traces)
			if (lost > 0)
				facts.append(element('span', {class: 'warn'}, `${plural(lost, 'event')} lost${other ? ` in ${name}` : ''}`));
		if (folded > 0)
			facts.append(element('span', null, `${plural(folded, 'tiny frame')} shown as part of their callers`));
	}

	// Everything again, after a choice.
	update() {
		const {measured} = this, {canvas} = this;
		this.markChoices();
		this.colours.use(this.scheme, this.theme);
		canvas.sides = this.graph.sides > 1 ? this.bothSides() : null;
		canvas.zoomed = this.zoomed = measured.total[this.zoomed] > 0 ? this.zoomed : 0;
		canvas.resize();
		canvas.show(measured);
		this.showEmpty();
		this.showLegend();
		this.showPath();
		this.search();
		this.showPanel();
	}

	showEmpty() {
		const empty = byId('empty'), nothing = this.measured.total[0] === 0;
		empty.hidden = !nothing;
		byId('canvas').style.visibility = nothing ? 'hidden' : '';
		if (!nothing)
			return;
		const others = Object.keys(METRIC_WORDS).filter((metric) => this.graph.measure(metric, this.side).total[0] > 0);
		empty.textContent = this.metric === 'cpu' ? 'There are no CPU samples in this trace.' :
			this.metric === 'wait' ? 'No task waited in this trace.' : 'There are no times of tasks in this trace.';
		if (others.length)
			empty.textContent += `\nIt has ${others.map((metric) => METRIC_WORDS[metric]).join(' and ')}: see above.`;
	}

	markChoices() {
		const chosen = {metric: this.metric, side: String(this.side), orientation: this.canvas.flame ? 'flame' : 'icicle', colours: this.scheme};
		for (const [id, value] of Object.entries(chosen)) {
			for (const button of byId(id).children) {
				button.setAttribute('aria-checked', button.dataset.value === value);
				button.tabIndex = button.dataset.value === value ? 0 : -1;
			}
		}
		byId('panel-toggle').setAttribute('aria-expanded', !byId('panel').hidden);
	}

	choose(id, value) {
		if (id === 'metric')
			this.metric = value;
		else if (id === 'side')
			this.side = Number(value);
		else if (id === 'orientation')
			this.setOrientation(value);
		else
			this.scheme = value;
		this.update();
	}

	setOrientation(value) {
		const scroll = byId('scroll');
		this.canvas.flame = value === 'flame';
		scroll.scrollTop = this.canvas.flame ? scroll.scrollHeight : 0;
	}

	setTheme(theme) {
		this.theme = theme;
		document.documentElement.dataset.theme = theme;
		document.documentElement.style.colorScheme = theme;
	}

	showLegend() {
		const legend = byId('legend'), item = (colour, word) => {
			const box = element('i');
			box.style.background = colour;
			return element('span', null, box, word);
		};
		legend.replaceChildren();
		if (this.scheme === 'change')
			legend.append(this.changeScale());
		else if (this.scheme === 'kind')
			for (const kind of this.kinds())
				legend.append(item(this.colours.kindColour(kind, 0.5), KIND_WORDS[kind]));
		else
			for (const module of this.modules())
				legend.append(item(this.colours.moduleColour(module), module));
		const edge = element('i', {class: 'edge'});
		edge.style.background = this.colours.theme.edge;
		legend.append(element('span', null, edge, 'async meets native code'));
		if (this.measured.queued && this.measured.queued[0] > 0)
			legend.append(element('span', null, element('i', {class: 'strip'}), 'queued part'));
	}

	changeScale() {
		const scale = element('i', {class: 'scale'});
		scale.style.background = `linear-gradient(90deg, ${[-1, -0.5, 0, 0.5, 1].map((at) => this.colours.ofChange(at)).join(', ')})`;
		return element('span', null, 'share ÷ 3, or gone', scale, '× 3, or new, against the other trace');
	}

	// The kinds of frames that there are.
	kinds() {
		const {graph} = this, there = new Set();
		for (let name = 1; name < graph.nameCount(); name++)
			there.add(graph.kindOf(name));
		return [NATIVE, INLINED, RUNNING, AWAIT, ARMED, LABEL, NOTE].filter((kind) => there.has(kind));
	}

	modules() {
		const sums = new Map();
		for (const row of this.graph.functionsOf(0, this.measured)) {
			const module = this.graph.moduleOf(row.name);
			if (module)
				sums.set(module, (sums.get(module) || 0) + row.self);
		}
		return [...sums].sort((a, b) => b[1] - a[1]).slice(0, 8).map(([module]) => module);
	}

	showPath() {
		const path = byId('path'), nodes = this.graph.path(this.zoomed);
		byId('reset').disabled = this.zoomed === 0;
		path.hidden = this.zoomed === 0;
		path.replaceChildren();
		const shown = nodes.length > 7 ? [nodes[0], null, ...nodes.slice(-5)] : nodes;
		for (const node of shown) {
			if (path.children.length)
				path.append(element('span', {'aria-hidden': 'true'}, '›'));
			path.append(node === null ? element('span', null, '…') : element('button', {type: 'button',
				onclick: () => this.zoom(node)}, node === 0 ? 'all' : this.graph.label(node)));
		}
	}

	zoom(node) {
		if (node !== this.zoomed)
			location.hash = node ? `#frame=${node}` : '#';
		this.zoomTo(node, true);
	}

	zoomTo(node, animated) {
		const {canvas} = this, wasHidden = byId('path').hidden;
		this.zoomed = this.selected = node;
		canvas.focused = node || null;
		canvas.hovered = null;
		canvas.zoomed = node;
		this.panel.hideTip();
		this.showPath();
		if (byId('path').hidden !== wasHidden)
			canvas.resize();
		canvas.zoom(node, animated);
		canvas.reveal(node);
		this.search();
		this.showPanel();
	}

	// Back and forward in the browser's history zoom too.
	followAddress() {
		const found = /^#frame=(\d+)$/.exec(location.hash), node = found ? Number(found[1]) : 0;
		const known = node < this.graph.count && this.measured.total[node] > 0 ? node : 0;
		if (known !== this.zoomed) {
			if (this.canvas.measured)
				this.zoomTo(known, true);
			else
				this.zoomed = this.selected = known;
		}
	}

	showPanel() {
		if (!byId('panel').hidden)
			this.panel.show(this.selected);
	}

	togglePanel(open) {
		byId('panel').hidden = open === undefined ? !byId('panel').hidden : !open;
		this.update();
	}

	// Which names are searched for; null: none, undefined: the expression is wrong.
	pattern() {
		if (!this.query)
			return null;
		if (!this.isRegex) {
			const wanted = this.query.toLowerCase();
			return (text) => text.toLowerCase().includes(wanted);
		}
		try {
			const expression = new RegExp(this.query, 'i');
			return (text) => expression.test(text);
		} catch {
			return undefined;
		}
	}

	search() {
		const {graph} = this, matched = byId('matched'), matches = this.pattern();
		byId('search').classList.toggle('wrong', matches === undefined);
		this.canvas.marked = null;
		matched.replaceChildren();
		if (matches === undefined) {
			matched.textContent = 'no regular expression';
		} else if (matches) {
			const wanted = new Uint8Array(graph.nameCount());
			for (let name = 1; name < wanted.length; name++)
				wanted[name] = matches(graph.functionOf(name)) || matches(graph.moduleOf(name)) ? 1 : 0;
			this.canvas.marked = new Uint8Array(graph.count);
			for (let node = 1; node < graph.count; node++)
				this.canvas.marked[node] = wanted[graph.name[node]];
			const {sum, frames} = graph.match(wanted, this.zoomed, this.measured);
			this.sayMatched(sum, frames ? '' : 'nothing found');
		} else if (this.task !== null) {
			this.sayMatched(this.markTask(), '');
		}
		this.canvas.draw();
	}

	sayMatched(sum, instead) {
		const all = this.measured.total[this.zoomed];
		if (instead)
			byId('matched').textContent = instead;
		else
			byId('matched').append(element('b', null, percent(sum, all)), ` matched, ${duration(sum)}`);
	}

	// Marks the frames that a task is behind, and all around them; what it took of what is shown.
	markTask() {
		const {graph, measured} = this, marked = new Uint8Array(graph.count);
		let sum = 0;
		marked[0] = 1;
		for (let i = 0; i < graph.shareNode.length; i++) {
			if (graph.shareTask[i] !== this.task || !measured.values.includes(graph.shareValue[i]))
				continue;
			const node = graph.shareNode[i];
			if (node >= this.zoomed && node < graph.end[this.zoomed])
				sum += graph.shareTime[i];
			for (let at = node; at > 0 && !marked[at]; at = graph.parent[at])
				marked[at] = 1;
		}
		this.canvas.marked = marked;
		return sum;
	}

	pickTask(task) {
		this.task = this.task === task ? null : task;
		this.setQuery('');
		this.showPanel();
	}

	searchFor(text) {
		this.isRegex = false;
		byId('regex').setAttribute('aria-pressed', 'false');
		this.setQuery(this.query === text ? '' : text);
	}

	setQuery(text) {
		byId('search').value = this.query = text;
		this.search();
	}

	// One thing at a time: what is found, then what is zoomed.
	escape() {
		if (this.query || this.task !== null) {
			this.task = null;
			this.setQuery('');
			this.showPanel();
		} else {
			this.zoom(0);
		}
	}

	// From one frame to the next by the keys.
	move(key) {
		const {graph, canvas} = this, {total} = this.measured, at = canvas.focused ?? this.zoomed;
		const outwards = canvas.flame ? 'ArrowUp' : 'ArrowDown', inwards = canvas.flame ? 'ArrowDown' : 'ArrowUp';
		const siblings = at > 0 ? [...graph.children(graph.parent[at], total)] : [0], place = siblings.indexOf(at);
		let next = at;
		if (key === outwards)
			next = graph.children(at, total)[0] ?? at;
		else if (key === inwards)
			next = graph.parent[at];
		else if (key === 'ArrowLeft')
			next = siblings[place - 1] ?? at;
		else
			next = siblings[place + 1] ?? at;
		if (total[next] > 0)
			this.focus(next);
	}

	focus(node) {
		this.canvas.focused = this.selected = node;
		if (!this.canvas.find(node))
			this.zoom(this.graph.parent[node]);
		this.canvas.focused = this.selected = node;
		this.canvas.reveal(node);
		this.canvas.draw();
		byId('said').textContent = this.panel.sentence(node);
		this.showPanel();
	}

	press(event) {
		const typing = event.target instanceof HTMLInputElement;
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (event.key === 'Escape') {
			this.escape();
			byId('canvas').focus();
			return;
		}
		if (typing) {
			if (event.key === 'Enter')
				byId('canvas').focus();
			return;
		}
		if (event.target.getAttribute('role') === 'radio' && event.key.startsWith('Arrow'))
			this.moveChoice(event.target, event.key === 'ArrowRight' || event.key === 'ArrowDown' ? 1 : -1);
		else if (event.key.startsWith('Arrow'))
			this.move(event.key);
		else if (event.key === 'Enter' && event.target === byId('canvas'))
			this.zoom(this.canvas.focused ?? 0);
		else if (event.key === 'Backspace')
			this.zoom(this.graph.parent[this.zoomed]);
		else if (!this.shortcut(event.key))
			return;
		event.preventDefault();
	}

	moveChoice(button, step) {
		const buttons = [...button.parentNode.children].filter((one) => !one.hidden);
		const next = buttons[(buttons.indexOf(button) + step + buttons.length) % buttons.length];
		this.choose(button.parentNode.id, next.dataset.value);
		next.focus();
	}

	shortcut(key) {
		const schemes = this.graph.sides > 1 ? ['change', 'kind', 'module'] : ['kind', 'module'];
		const actions = {
			'/': () => byId('search').focus(),
			't': () => this.togglePanel(),
			'd': () => byId('theme').click(),
			'i': () => this.choose('orientation', this.canvas.flame ? 'icicle' : 'flame'),
			'c': () => this.choose('colours', schemes[(schemes.indexOf(this.scheme) + 1) % schemes.length]),
			'1': () => this.choose('metric', 'cpu'),
			'2': () => this.choose('metric', 'wait'),
			'3': () => this.choose('metric', 'wall'),
		};
		if (!actions[key])
			return false;
		actions[key]();
		return true;
	}

	hover(event) {
		const {canvas} = this, node = canvas.hit(event.offsetX, event.offsetY);
		if (node !== canvas.hovered) {
			canvas.hovered = node;
			canvas.canvas.style.cursor = node === null ? 'default' : 'pointer';
			canvas.requestDraw();
		}
		if (node === null)
			this.panel.hideTip();
		else
			this.panel.showTip(node, event.clientX, event.clientY);
	}

	leave() {
		this.canvas.hovered = null;
		this.canvas.requestDraw();
		this.panel.hideTip();
	}

	click(event) {
		const node = this.canvas.hit(event.offsetX, event.offsetY);
		if (node !== null)
			this.zoom(node);
	}

	listen() {
		const surface = byId('canvas');
		surface.addEventListener('mousemove', (event) => this.hover(event));
		surface.addEventListener('mouseleave', () => this.leave());
		surface.addEventListener('click', (event) => this.click(event));
		document.addEventListener('keydown', (event) => this.press(event));
		window.addEventListener('hashchange', () => this.followAddress());
		new ResizeObserver(() => {
			if (byId('scroll').clientWidth !== this.canvas.width || byId('scroll').clientHeight !== this.canvas.height) {
				this.canvas.resize();
				this.canvas.chooseRow();
				this.canvas.layout();
			}
		}).observe(byId('scroll'));
		for (const group of document.querySelectorAll('.choice'))
			for (const button of group.children)
				button.addEventListener('click', () => this.choose(group.id, button.dataset.value));
		byId('search').addEventListener('input', (event) => {
			this.task = null;
			this.query = event.target.value;
			this.search();
		});
		byId('regex').addEventListener('click', () => {
			this.isRegex = !this.isRegex;
			byId('regex').setAttribute('aria-pressed', this.isRegex);
			this.search();
		});
		byId('reset').addEventListener('click', () => this.zoom(0));
		byId('panel-toggle').addEventListener('click', () => this.togglePanel());
		byId('theme').addEventListener('click', () => {
			this.setTheme(this.theme === 'dark' ? 'light' : 'dark');
			this.update();
		});
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (event) => {
			this.setTheme(event.matches ? 'dark' : 'light');
			this.update();
		});
	}
}

function begin() {
	const meta = JSON.parse(byId('meta').textContent);
	const graph = new Graph(meta, byId('nodes').textContent, byId('shares').textContent);
	for (const id of ['meta', 'nodes', 'shares'])
		byId(id).remove();
	new Page(graph).start();
	document.body.dataset.ready = Math.round(performance.now()); // ms since the page was opened
}

begin();
