"""Where parallel text comes from, how it is cleaned, and how it becomes batches."""
