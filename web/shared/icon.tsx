// Icons. They are decoration: a text beside them, or a label, says the same.

const PATHS = {
  home: "M4 11 12 4l8 7M6 10v10h12V10",
  public: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM3 12h18M12 3c3 3 3 15 0 18-3-3-3-15 0-18",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5 21 21",
  notifications: "M6 17V11a6 6 0 0 1 12 0v6l2 1H4zM10 21h4",
  bookmarks: "M6 4h12v17l-6-4-6 4z",
  products: "M4 8 12 4l8 4v9l-8 4-8-4zM4 8l8 4 8-4M12 12v9",
  settings: "M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4",
  like: "M12 20C4 14 3 10 4 7.5 5.5 4 10 4 12 8c2-4 6.5-4 8-.5 1 2.5 0 6.5-8 12.5z",
  report: "M5 21V4h12l-2 4 2 4H5",
  people: "M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM3 20c0-4 2.5-6 6-6s6 2 6 6M16 6a3 3 0 0 1 0 6M17.5 14.5c2.5.5 3.5 2.5 3.5 5.5",
  list: "M4 6h16M4 12h16M4 18h10",
  health: "M3 12h4l3-7 4 14 3-7h4",
  mail: "M3 6h18v12H3zM3 7l9 7 9-7",
  backup: "M12 3v11M7 10l5 5 5-5M4 17v4h16v-4",
  comment: "M4 5h16v11H11l-5 4v-4H4z",
};

/** An icon; `isFull` fills it. */
export function Icon({ name, isFull = false }: { name: keyof typeof PATHS; isFull?: boolean }) {
  return (
    <svg class={isFull ? "icon full" : "icon"} viewBox="0 0 24 24" width={24} height={24} aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
