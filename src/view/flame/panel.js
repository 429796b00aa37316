// SPDX-License-Identifier: Apache-2.0
// What is said of a frame: beside the pointer, and at length in the panel.

const ROWS_SHOWN = 100;
const COUNT_WORDS = {cpu: 'samples', wait: 'waits'};

class Panel {
	constructor(page) {
		this.page = page;
		this.graph = page.graph;
	}

	// Name, place and kind.
	title(node) {
		const {graph} = this, name = graph.name[node];
		const where = [graph.moduleOf(name), graph.placeOf(name)].filter(Boolean).join(' · ');
		return [
			element('div', {class: 'name'}, graph.label(node)),
			where ? element('div', {class: 'where'}, where) : null,
			node > 0 ? element('span', {class: `mark k${graph.kindOf(name)}`}, KIND_WORDS[graph.kindOf(name)]) : null,
		];
	}

	// A list of figures: word, value, share.
	figures(rows) {
		const list = element('dl');
		for (const [word, value, share] of rows)
			list.append(element('dt', null, word), element('dd', null, value), element('dd', {class: 'of'}, share || ''));
		return list;
	}

	rows(node) {
		const {measured, metric, zoomed} = this.page, {total, self} = measured, all = total[0];
		const rows = [
			['total', duration(total[node]), percent(total[node], all)],
			['self', duration(self[node]), percent(self[node], all)],
		];
		if (zoomed > 0 && node !== zoomed && total[zoomed] > 0)
			rows.push(['of the zoomed frame', '', percent(total[node], total[zoomed])]);
		if (measured.queued && measured.queued[node] > 0)
			rows.push(['of it queued', duration(measured.queued[node]), percent(measured.queued[node], all)]);
		if (measured.countTotal && measured.countTotal[node] > 0)
			rows.push([COUNT_WORDS[metric], count(measured.countTotal[node]), measured.counts[node] ? `${count(measured.counts[node])} self` : '']);
		return rows.concat(this.changeRows(node));
	}

	// Both figures of a comparison.
	changeRows(node) {
		const {page} = this;
		if (this.graph.sides < 2)
			return [];
		const [now, before] = page.bothSides(), share = (of) => of.total[0] > 0 ? of.total[node] / of.total[0] : 0;
		const word = share(before) === 0 ? 'new' : share(now) === 0 ? 'gone' :
			`${share(now) >= share(before) ? '+' : '−'}${Math.abs(100 * (share(now) / share(before) - 1)).toFixed(1)} %`;
		return [
			['in this trace', duration(now.total[node]), percent(now.total[node], now.total[0])],
			['in the other', duration(before.total[node]), percent(before.total[node], before.total[0])],
			['change of its share', '', word],
		];
	}

	// One sentence, for those who hear the page.
	sentence(node) {
		const {measured} = this.page, {graph} = this;
		return `${graph.label(node)}, ${KIND_WORDS[graph.kindOf(graph.name[node])]}, ` +
			`${percent(measured.total[node], measured.total[0])}, total ${duration(measured.total[node])}, ` +
			`self ${duration(measured.self[node])}`;
	}

	showTip(node, x, y) {
		const tip = byId('tip');
		tip.replaceChildren(...this.title(node).filter(Boolean), this.figures(this.rows(node)));
		tip.hidden = false;
		const box = tip.getBoundingClientRect();
		const left = x + 16 + box.width > innerWidth ? x - box.width - 12 : x + 16;
		const top = y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18;
		tip.style.left = `${Math.max(4, left)}px`;
		tip.style.top = `${Math.max(4, top)}px`;
	}

	hideTip() {
		byId('tip').hidden = true;
	}

	show(node) {
		byId('frame').replaceChildren(...this.title(node).filter(Boolean), this.figures(this.rows(node)));
		byId('tasks').replaceChildren(...this.tasks(node));
		byId('functions').replaceChildren(...this.functions(node));
	}

	tasks(node) {
		const {graph, page} = this, {list, least, others} = graph.tasksOf(node, page.measured), all = page.measured.total[node];
		if (graph.tasks.length === 0 || all === 0)
			return [element('p', {class: 'more'}, all === 0 ? 'Nothing was measured here.' : 'No task is behind this frame.')];
		const body = element('tbody');
		for (const {task, time} of list.slice(0, ROWS_SHOWN)) {
			const label = graph.string(graph.tasks[task].label) || 'task';
			const pick = element('button', {type: 'button', title: `${label}: show its frames`,
				onclick: () => page.pickTask(task)}, label);
			body.append(element('tr', {'aria-selected': page.task === task ? 'true' : 'false'},
				element('td', null, pick, this.bar(time, list[0].time)),
				element('td', {class: 'id'}, graph.tasks[task].id), element('td', {class: 'n'}, `${least ? '≥ ' : ''}${duration(time)}`)));
		}
		const head = element('tr', null, element('th', {scope: 'col'}, 'task'), element('th', {scope: 'col', class: 'id'}, 'id'),
			element('th', {scope: 'col', class: 'n'}, page.metric === 'cpu' ? 'CPU' : page.metric));
		const parts = list.length ? [element('table', null, element('thead', null, head), body)] : [];
		const left = this.left(list.length, others, all);
		return left ? parts.concat(element('p', {class: 'more'}, left)) : parts;
	}

	// What the list of tasks does not say one by one.
	left(tasks, others, all) {
		const parts = [];
		if (tasks > ROWS_SHOWN)
			parts.push(`${plural(tasks - ROWS_SHOWN, 'task')} more with less`);
		if (others > all * 0.0005)
			parts.push(tasks ? `${duration(others)} of other tasks or of none` : `${duration(others)} of no task that is listed`);
		return parts.length ? `${parts.join('; ')}.` : '';
	}

	functions(node) {
		const {graph, page} = this, all = page.measured.total[node], body = element('tbody');
		const rows = graph.functionsOf(node, page.measured);
		rows.sort((a, b) => b.self - a.self || b.total - a.total || a.name - b.name);
		for (const row of rows.slice(0, ROWS_SHOWN)) {
			const word = graph.functionOf(row.name);
			const pick = element('button', {type: 'button', title: `${word}: search it`, onclick: () => page.searchFor(word)}, word);
			body.append(element('tr', null, element('td', null, pick, this.bar(row.self, all)),
				element('td', {class: 'n'}, percent(row.self, all)), element('td', {class: 'n'}, percent(row.total, all))));
		}
		const head = element('tr', null, element('th', {scope: 'col'}, 'function'),
			element('th', {scope: 'col', class: 'n'}, 'self'), element('th', {scope: 'col', class: 'n'}, 'total'));
		const parts = [element('table', null, element('thead', null, head), body)];
		if (rows.length > ROWS_SHOWN)
			parts.push(element('p', {class: 'more'}, `${plural(rows.length - ROWS_SHOWN, 'function')} more with less.`));
		return parts;
	}

	bar(part, all) {
		return element('span', {class: 'bar', style: `width: ${all > 0 ? (100 * part / all).toFixed(1) : 0}%`});
	}
}
