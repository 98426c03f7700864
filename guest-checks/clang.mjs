// Compiles C sources into one wasm32-wasip1 command: node clang.mjs BUNDLE OUT FILES...
//
// BUNDLE is the module of @yowasp/clang. The compiler runs in a file system of its own that
// holds nothing but its headers and these files, so no path of this machine reaches the bytes.

import { readFileSync, writeFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [bundle, out, ...files] = process.argv.slice(2);
const { commands } = await import(pathToFileURL(resolve(bundle)));

const tree = {};
for (const file of files.toSorted()) {
    tree[basename(file)] = readFileSync(file, 'utf8');
}
const sources = Object.keys(tree).filter((name) => name.endsWith('.c'));
const compile = ['-std=gnu17', '-Oz', '-Wall', '-Wextra', '-Werror', '-c'];
const link = ['-Wl,--strip-all', '-Wl,--gc-sections'];
const quietly = { fetchProgress: () => {} };

// One object at a time: the driver runs each in an instance of its own.
const objects = {};
try {
    for (const name of sources) {
        const object = name.replace(/\.c$/, '.o');
        const made = await commands.clang([...compile, name, '-o', object], tree, quietly);
        objects[object] = made[object];
    }
    const linked = await commands.clang(
        [...Object.keys(objects), ...link, '-o', 'out.wasm'], objects, quietly,
    );
    writeFileSync(out, linked['out.wasm']);
} catch (problem) {
    console.error(problem.message);
    process.exit(1);
}
