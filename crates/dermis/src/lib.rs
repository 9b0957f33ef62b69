//! dermis
