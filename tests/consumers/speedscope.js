// SPDX-License-Identifier: Apache-2.0
// Opens files with speedscope's own importer, which is a part of its page, and
// prints the sum of each profile. Whatever it would warn of is an error.
//
// usage: node speedscope.js PACKAGE FILE...
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

// Something that can be called, constructed and looked into to any depth.
function anything() {
	return new Proxy(function () {}, {
		get: (target, key) => (key === Symbol.toPrimitive ? () => "" : anything()),
		apply: anything,
		construct: anything,
	});
}

// The page's script up to where it would draw itself, with its importer made known.
function importer_script(release) {
	const name = fs.readdirSync(release).find((file) => /^speedscope-.*\.js$/.test(file));
	const script = fs.readFileSync(path.join(release, name), "utf8");
	const module = script.match(/\((\w+),\{[^{}]*importProfilesFromArrayBuffer:\(\)=>/)[1];
	const load = script.match(new RegExp(`\\(\\)=>\\((\\w+)\\(\\),${module}\\)`))[0];
	const end = script.lastIndexOf("console.log(`speedscope v");

	return `${script.slice(0, end)}globalThis.importer=(${load})();})();`;
}

function load_importer(release, complaints) {
	const complain = (...words) => complaints.push(words.join(" "));
	const window = {
		addEventListener() {},
		devicePixelRatio: 1,
		localStorage: {},
		location: { hash: "", protocol: "file:" },
	};
	const page = {
		window,
		document: anything(),
		navigator: { platform: "", userAgent: "" },
		location: window.location,
		console: {
			log() {},
			warn: complain,
			error: complain,
			assert: (ok, ...words) => ok || complain("assertion", ...words),
		},
		performance,
		setTimeout,
		TextDecoder,
		TextEncoder,
		URL,
		alert: complain,
	};

	page.globalThis = page;
	page.self = page;
	vm.createContext(page);
	vm.runInContext(importer_script(release), page);
	return page;
}

async function main() {
	const [release, ...files] = process.argv.slice(2);
	const complaints = [];
	const page = load_importer(path.join(release, "package", "dist", "release"), complaints);

	for (const file of files) {
		const bytes = fs.readFileSync(file);
		const buffer = vm.runInContext("(length) => new ArrayBuffer(length)", page)(bytes.length);

		new Uint8Array(buffer).set(bytes);
		const group = await page.importer.importProfilesFromArrayBuffer(path.basename(file), buffer);
		if (!group)
			throw new Error(`${file}: speedscope does not know what this is`);
		for (const profile of group.profiles)
			console.log(path.basename(file), profile.getName(), profile.getTotalWeight(),
				profile.getWeightUnit());
	}
	if (complaints.length)
		throw new Error(complaints.slice(0, 10).join("\n"));
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});
