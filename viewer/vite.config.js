import { defineConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';
import { readFileSync } from 'node:fs';

const versions = JSON.parse(readFileSync(new URL('package.json', import.meta.url))).dependencies;

// One file, nothing that differs from build to build.
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  define: { VERSIONS: JSON.stringify(versions) },
  build: {
    target: 'es2022',
    outDir: process.env.URTO_VIEWER_OUT ?? 'dist',
    emptyOutDir: true,
    modulePreload: false,
    rollupOptions: { input: 'page.html' },
  },
});
