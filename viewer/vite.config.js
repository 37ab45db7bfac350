import { defineConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';
import { readFileSync } from 'node:fs';

const versions = JSON.parse(readFileSync(new URL('package.json', import.meta.url))).dependencies;

/// MIT asks that the notices go where the code goes.
const notices = {
  name: 'notices',
  transformIndexHtml: (html) => html + Object.keys(versions).map((name) =>
    `<!-- ${name} ${versions[name]}, which is part of this page:\n${readFileSync(new URL(`node_modules/${name}/LICENSE`, import.meta.url), 'utf8').trim()}\n-->\n`).join(''),
};

// One file, nothing that differs from build to build.
export default defineConfig({
  plugins: [notices, viteSingleFile({ removeViteModuleLoader: true })],
  define: { VERSIONS: JSON.stringify(versions) },
  build: {
    target: 'es2022',
    outDir: process.env.URTO_VIEWER_OUT ?? 'dist',
    emptyOutDir: true,
    modulePreload: false,
    rollupOptions: { input: 'page.html' },
  },
});
