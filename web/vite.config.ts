import { defineConfig } from "vite";

// `vite build` makes `dist/app`: the page and what it loads, side by side, since the service has one parameter in a path.
export default defineConfig({
  root: "app",
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    outDir: "../dist/app",
    emptyOutDir: true,
    assetsDir: "",
    // Images are files of their own: the policy of the page allows no other.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  // The service that the pages talk to while they are worked on.
  server: { proxy: { "^/(api|media)/": "http://127.0.0.1:8080" } },
});
