// SPDX-License-Identifier: Apache-2.0
// What colour a frame has: by what it is, by its module, or by how it changed.

const THEMES = {
	light: {
		ink: '#1f1b16', paper: '#ffffff', edge: '#0d5f57', strip: 'rgb(31 27 22 / 42%)', outline: '#24211d',
		kinds: [[25, 86, 71], [172, 44, 59], [257, 62, 77], [231, 66, 80], [47, 84, 80], [40, 10, 86], [207, 52, 80]],
		module: [58, 76], quiet: [40, 8, 86],
		change: {none: [236, 232, 224], up: [226, 92, 74], down: [84, 142, 226]},
	},
	dark: {
		ink: '#f5f2ec', paper: '#202026', edge: '#7fe3d6', strip: 'rgb(255 255 255 / 45%)', outline: '#ffffff',
		kinds: [[24, 56, 40], [173, 56, 30], [257, 36, 48], [231, 36, 46], [42, 46, 36], [245, 5, 30], [208, 34, 38]],
		module: [36, 40], quiet: [245, 5, 30],
		change: {none: [66, 66, 74], up: [196, 70, 56], down: [58, 104, 184]},
	},
};
const KIND_SPREAD = [10, 4, 9, 7, 3, 0, 6];

class Colours {
	constructor(graph) {
		this.graph = graph;
		this.hues = new Map(); // of modules, far from each other in the order in which they appear
	}

	use(scheme, theme) {
		this.scheme = scheme;
		this.theme = THEMES[theme];
		this.cache = new Array(this.graph.nameCount());
	}

	hue(module) {
		if (!this.hues.has(module))
			this.hues.set(module, (30 + this.hues.size * 137.508) % 360);
		return this.hues.get(module);
	}

	moduleColour(module) {
		const [saturation, lightness] = this.theme.module;
		if (!module)
			return this.kindColour(NOTE, 0.5);
		return `hsl(${this.hue(module).toFixed(0)} ${saturation}% ${lightness}%)`;
	}

	kindColour(kind, place) {
		const [hue, saturation, lightness] = this.theme.kinds[kind];
		const shift = (place - 0.5) * 2;
		const brighter = kind === NOTE ? 0 : ((place * 7919) % 1 - 0.5) * 7;
		return `hsl(${(hue + shift * KIND_SPREAD[kind]).toFixed(1)} ${saturation}% ${(lightness + brighter).toFixed(1)}%)`;
	}

	ofName(name) {
		if (this.cache[name])
			return this.cache[name];
		const kind = this.graph.kindOf(name);
		const colour = this.scheme === 'module' && kind < NOTE ? this.moduleColour(this.graph.moduleOf(name)) :
			this.kindColour(kind, spread(this.graph.functionOf(name)));
		this.cache[name] = colour;
		return colour;
	}

	// From -1, gone, to 1, new; 0: as it was.
	ofChange(change) {
		const {none, up, down} = this.theme.change, to = change > 0 ? up : down, by = Math.abs(change);
		const mixed = none.map((from, i) => Math.round(from + (to[i] - from) * by));
		return `rgb(${mixed.join(' ')})`;
	}

	quiet() {
		const [hue, saturation, lightness] = this.theme.quiet;
		return `hsl(${hue} ${saturation}% ${lightness}%)`;
	}
}

// How the share of a frame changed, by powers of two; a factor of 3 or more is the full colour.
function relativeChange(now, before) {
	if (now === before)
		return 0;
	if (now === 0 || before === 0)
		return now > before ? 1 : -1;
	return Math.max(-1, Math.min(1, Math.log2(now / before) / Math.log2(3)));
}
