// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, and elements.

function duration(ns) {
	for (const [unit, word] of [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']]) {
		if (ns >= unit * 0.9995) { // what is 1000 of the smaller unit once rounded
			const number = ns / unit;
			return `${number.toFixed(number < 10 ? 2 : number < 100 ? 1 : 0)} ${word}`;
		}
	}
	return `${Math.round(ns)} ns`;
}

function count(number) {
	return Math.round(number).toLocaleString('en-US');
}

function percent(part, all) {
	const share = all > 0 ? 100 * part / all : 0;
	return `${share.toFixed(share < 10 ? 2 : 1)} %`;
}

function plural(number, word) {
	return `${count(number)} ${word}${number === 1 ? '' : 's'}`;
}

// Text is always a text node: names come from outside and may be anything.
function element(tag, attributes, ...inside) {
	const made = document.createElement(tag);
	for (const [key, value] of Object.entries(attributes || {})) {
		if (key === 'onclick')
			made.addEventListener('click', value);
		else if (value !== null && value !== undefined)
			made.setAttribute(key, value);
	}
	made.append(...inside.filter((part) => part !== null && part !== undefined));
	return made;
}

function byId(id) {
	return document.getElementById(id);
}

// A number from a string, the same each time, of 0 to 1.
function spread(text) {
	let hash = 2166136261;
	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	hash = Math.imul(hash ^ hash >>> 15, 2246822519);
	return ((hash ^ hash >>> 13) >>> 0) / 4294967296;
}
