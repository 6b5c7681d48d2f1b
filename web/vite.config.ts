import { defineConfig } from "vite";

// `vite build --mode app` makes `dist/app`: the page and what it loads, side by side, since the service has one parameter in a path.
export default defineConfig(({ mode: page }) => ({
  root: page,
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    outDir: `../dist/${page}`,
    emptyOutDir: true,
    assetsDir: "",
    // Images are files of their own: the policy of the page allows no other.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // The service that the pages talk to while they are worked on.
  server: { proxy: { "^/(api|health|media)/": "http://127.0.0.1:8080" } },
}));
