// Draws the waves of ripples.wasm as text: node draw.mjs FOLDER
import { readFileSync } from "node:fs";
import { join } from "node:path";

const bytes = readFileSync(join(process.argv[2], "ripples.wasm"));
const cosf = (x) => Math.fround(Math.cos(x));
const { instance } = await WebAssembly.instantiate(bytes, { env: { cosf } });
const { memory, heap, ripples } = instance.exports;
memory.grow(1); // 65536 bytes behind the heap's begin

const [width, height] = [48, 16];
const x = heap.value, y = x + 4 * width, time = y + 4 * height, out = time + 64;
const workspace = out + 4 * width * height;
new Float32Array(memory.buffer, x, width).forEach((_, i, a) => { a[i] = -2 + (4 * i) / (width - 1); });
new Float32Array(memory.buffer, y, height).forEach((_, i, a) => { a[i] = -1 + (2 * i) / (height - 1); });
new Float32Array(memory.buffer, time, 1)[0] = 0;
if (ripples(x, y, time, out, workspace) !== 0) throw new Error("ripples failed");

const heights = new Float32Array(memory.buffer, out, width * height);
const shades = " .:-=+*#%@";
for (let row = 0; row < height; row++)
    console.log(Array.from(heights.slice(row * width, (row + 1) * width),
        (h) => shades[Math.min(9, Math.floor(h * 10))]).join(""));
console.log(`the middle has the height ${heights[8 * width + 24].toFixed(3)}`);
